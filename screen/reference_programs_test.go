//go:build unix

package screen

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/creack/pty"
)

// A program is one whose output the reference is known to draw correctly.
type program struct {
	command []string
	keys    string // typed into it
}

// programs are run if they are installed: their output changes with each release, and so is not part of the project.
var programs = []program{
	{[]string{"ls", "-la", "--color=always", "/usr/bin"}, ""},
	{[]string{"less", "-R", "terminal_corpus_test.go"}, "   bd/func\rnGgg5j\x1b[B\x1b[Bkkq"},
	{[]string{"man", "ls"}, "  dd/SEE\rGkkkq"},
	{[]string{"vim", "-N", "-n", "-u", "NONE", "-i", "NONE", "+syntax on", "terminal_corpus_test.go"},
		"10j\x06\x06\x02/func\rnnddppu:vsplit\r\x17w5jOhello\x1b:split\rGgg\x17c:set nu list\rVGd:qa!\r"},
	{[]string{"top", "-b", "-n", "1"}, ""},
	{[]string{"top", "-d", "0.1", "-n", "3"}, ""},
	{[]string{"git", "--no-pager", "log", "--graph", "--color=always", "--stat", "-30"}, ""},
}

// TestReferencePrograms draws the output of real programs, and compares the text with that of the reference again and
// again on the way.
func TestReferencePrograms(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine computes: the race detector sees nothing here, and takes ten times as long")
	}
	for _, p := range programs {
		t.Run(filepath.Base(p.command[0]), func(t *testing.T) {
			if _, err := exec.LookPath(p.command[0]); err != nil {
				t.Skip(err)
			}
			text := record(t, p)
			if len(text) < 100 {
				t.Skipf("it wrote %q alone", text)
			}
			compareAlong(t, text, 80, 24)
		})
	}
}

// TestReferenceCaptures does the same with the captures of programs among the corpora.
func TestReferenceCaptures(t *testing.T) {
	for _, c := range readCorpus(t, "pyte") {
		t.Run(c.Name, func(t *testing.T) { compareAlong(t, c.Steps[0].Input, c.Cols, c.Rows) })
	}
}

// record returns the output of a program on a terminal of 80 columns and 24 rows.
func record(t *testing.T, p program) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute*slowdown)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.command[0], p.command[1:]...)
	cmd.Env = append(os.Environ(), "TERM=xterm-256color", "LC_ALL=C.UTF-8", "LESS=", "MANPAGER=less", "LINES=", "COLUMNS=")
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: 80})
	if err != nil {
		t.Skip(err)
	}
	defer func() { _ = tty.Close() }() // All of it was read.
	text := make([]byte, 1)
	if _, err := io.ReadFull(tty, text); err != nil {
		t.Skip(err)
	}
	// Keys that are typed earlier would be echoed as well, and the cursor would be elsewhere when the program switches
	// to the alternate screen: the reference then moves it to the top.
	_, _ = io.WriteString(tty, p.keys) // If the program has ended, its output shows that.
	rest, _ := io.ReadAll(tty)         // Linux ends a terminal with an error.
	_ = cmd.Wait()                     // Its output counts, however it ended.
	return append(text, rest...)
}

// compareAlong feeds both emulators the same pieces, and compares them after each.
func compareAlong(t *testing.T, text []byte, cols, rows int) {
	t.Helper()
	mine, theirs := newOurs(cols, rows, 0), newReference(cols, rows, 0)
	pieces := bytes.SplitAfter(text, []byte("\x1b[")) // This cuts no character.
	for i, piece := range pieces {
		mine.Write(piece)
		theirs.Write(piece)
		if i%max(1, len(pieces)/50) != 0 && i < len(pieces)-1 {
			continue
		}
		a, b := mine.look(), theirs.look()
		for row := range rows {
			if x, y := a.line(row), b.line(row); x != y {
				t.Fatalf("behind %.200q row %d is %q, not %q", piece, row, x, y)
			}
		}
	}
	// On the way the reference's cursor is not always at the same place as xterm's, for example after DL.
	if a, b := mine.look(), theirs.look(); a.row != b.row || a.col != b.col {
		t.Errorf("at the end the cursor is at %d,%d, not at %d,%d", a.row, a.col, b.row, b.col)
	}
}
