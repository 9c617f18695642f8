//go:build linux

package keeper_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"shelld.dev/shelld/jobs/internal/keeper"
	"shelld.dev/shelld/jobs/internal/proc"
)

// A terminalJob is a job on a terminal, with a reader that collects its output.
type terminalJob struct {
	*keeper.Keeper
	term *proc.Terminal
	out  *collector
}

func startTerminal(t testing.TB, pool *keeper.Pool, cmd keeper.Command) terminalJob {
	t.Helper()
	term, slave, err := proc.OpenTerminal(80, 24)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = term.Close() })
	cmd.Terminal = slave
	k := start(t, pool, cmd)
	_ = slave.Close()
	return terminalJob{k, term, collect(term.Source())}
}

// A collector reads a Source to its end.
type collector struct {
	text    chan string // all output since the last one, when it contains the wanted text
	want    chan string
	drained chan string // all output, at each ErrDrained
	ended   chan error  // the error at the end
	all     bytes.Buffer
}

// collect starts the one reader of s. It ends with the source.
func collect(s *proc.Source) *collector {
	c := &collector{drained: make(chan string, 1), ended: make(chan error, 1)}
	c.text, c.want = make(chan string, 1), make(chan string, 1)
	go func() {
		buf := make([]byte, 64<<10)
		want := ""
		for {
			n, err := s.Read(buf)
			c.all.Write(buf[:n])
			select {
			case want = <-c.want:
			default:
			}
			if want != "" && strings.Contains(c.all.String(), want) {
				want = ""
				c.text <- c.all.String()
			}
			switch {
			case errors.Is(err, proc.ErrDrained):
				select {
				case c.drained <- c.all.String():
				default:
				}
			case err != nil:
				c.ended <- err
				return
			}
		}
	}()
	return c
}

// await returns when the output contains want.
func (j terminalJob) await(t testing.TB, want string) {
	t.Helper()
	j.out.want <- want
	j.term.Source().Drain() // The output may be there already.
	select {
	case <-j.out.text:
	case err := <-j.out.ended:
		if !strings.Contains(j.out.all.String(), want) { // its reader has ended
			t.Fatalf("output ended (%v) before %q: %q", err, want, j.out.all.String())
		}
		j.out.ended <- err // for end
	case <-time.After(watchdog):
		panic("no " + want)
	}
}

func (j terminalJob) write(t testing.TB, text string) {
	t.Helper()
	if n, err := j.term.Sink().Write([]byte(text)); n != len(text) || err != nil {
		t.Fatalf("write %q: %d, %v", text, n, err)
	}
}

// end kills the job and waits for the end of its output.
func (j terminalJob) end(t testing.TB) {
	t.Helper()
	if err := j.Kill(keeper.KillOptions{}); err != nil && !errors.Is(err, keeper.ErrGone) {
		t.Error(err)
	}
	for range j.Events() {
	}
	if err := <-j.out.ended; err != io.EOF {
		t.Errorf("output ended with %v", err)
	}
}

func TestCtrlZStops(t *testing.T) {
	j := startTerminal(t, newPool(t), shell("echo ready; exec cat"))
	j.await(t, "ready")
	j.write(t, "\x1a")
	if e := expect(t, j.Keeper, keeper.Stopped); e.Signal != unix.SIGTSTP {
		t.Errorf("stopped %+v", e)
	}
	if group, err := j.term.ForegroundGroup(); err != nil || group != j.PID() {
		t.Errorf("foreground group %d, %v, want %d", group, err, j.PID())
	}
	if err := j.Signal(keeper.Foreground, unix.SIGCONT); err != nil {
		t.Error(err)
	}
	expect(t, j.Keeper, keeper.Continued)
	j.write(t, "again\n")
	j.await(t, "again\r\nagain\r\n")
	j.write(t, "\x03")
	if e := expect(t, j.Keeper, keeper.Exited); e.Signal != unix.SIGINT {
		t.Errorf("exit %+v", e)
	}
	j.end(t)
}

// A command that reads at once is in the foreground by then, and is not stopped.
func TestInputWaitsBeforeStart(t *testing.T) {
	pool := newPool(t)
	for i := range runs(200) {
		term, slave, err := proc.OpenTerminal(80, 24)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := term.Sink().Write([]byte("line\n")); err != nil {
			t.Fatal(err)
		}
		k := start(t, pool, keeper.Command{Path: "/usr/bin/head", Argv: []string{"head", "-n1"}, Terminal: slave})
		_ = slave.Close()
		if e := expect(t, k, keeper.Exited); e.Code != 0 {
			t.Fatalf("run %d: %+v", i, e)
		}
		finish(t, k)
		_ = term.Close()
	}
}

func TestForegroundIsTheShellsChild(t *testing.T) {
	cmd := shell("")
	cmd.Path, cmd.Argv = "/bin/bash", []string{"bash", "--norc", "-i"}
	cmd.Env = append(cmd.Env, `PS1=prompt\#>`)
	j := startTerminal(t, newPool(t), cmd)
	j.await(t, "prompt1>")
	j.write(t, "echo start$((1)); cat\n")
	j.await(t, "start1")
	j.write(t, "hello\n")
	j.await(t, "hello\r\nhello\r\n") // the echo, and the output of cat, which is in the foreground now
	if err := j.Signal(keeper.Foreground, unix.SIGINT); err != nil {
		t.Error(err)
	}
	j.await(t, "prompt2>")
	j.write(t, "echo code=$?\n")
	j.await(t, "code=130")
	// An interactive bash does not end on TERM.
	if err := j.Kill(keeper.KillOptions{Grace: time.Minute, Hangup: true}); err != nil {
		t.Error(err)
	}
	if e := expect(t, j.Keeper, keeper.Exited); e.Signal != unix.SIGHUP && e.Code != 129 {
		t.Errorf("exit %+v", e)
	}
	j.end(t)
}

// A process that a job leaves in the background of its terminal continues, and is reported.
func TestBackgroundKeepsTerminal(t *testing.T) {
	tag, fifo := newTag(), filepath.Join(t.TempDir(), "fifo")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	// The command continues when the second process has no terminal any more. The first reads the terminal from the
	// start, and must not stop the group that it is in.
	j := startTerminal(t, newPool(t), shell(`(read x; echo late) </dev/tty &
		(echo >"$1"; exec sleep $0) >/dev/null 2>&1 </dev/null &
		read x <"$1"; echo done`, tag, fifo))
	e := expect(t, j.Keeper, keeper.Exited)
	if len(e.Background) != 2 || e.Background[0].HoldsTerminal == e.Background[1].HoldsTerminal {
		t.Errorf("background %+v, want one with the terminal", e.Background)
	}
	j.term.Source().Drain()
	if got := <-j.out.drained; !strings.Contains(got, "done\r\n") {
		t.Errorf("drained %q", got)
	}
	j.end(t)
	expectNone(t, tag)
}

// No byte is lost, whichever comes first: the output, its end, or the exit.
func TestNothingIsLost(t *testing.T) {
	pool := newPool(t)
	for _, mode := range []string{"terminal", "pipe"} {
		for i := range many(250) {
			size := 3000
			if i%25 == 0 {
				size = 300_000
			}
			cmd := shell("i=0; head -c " + strconv.Itoa(size) + " /dev/zero | tr '\\0' x; echo end")
			var source *proc.Source
			if mode == "terminal" {
				term, slave, err := proc.OpenTerminal(80, 24)
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = term.Close() }()
				source, cmd.Terminal = term.Source(), slave
			} else {
				ours, theirs, err := proc.OutputPipe()
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = ours.Close() }()
				source, cmd.Stdout = ours, theirs
			}
			checkOutput(t, fmt.Sprint(mode, " ", i), pool, cmd, source, size)
		}
	}
}

func checkOutput(t *testing.T, name string, pool *keeper.Pool, cmd keeper.Command, source *proc.Source, size int) {
	t.Helper()
	k := start(t, pool, cmd)
	for _, f := range []*os.File{cmd.Terminal, cmd.Stdout} {
		if f != nil {
			_ = f.Close()
		}
	}
	c := collect(source)
	if e := expect(t, k, keeper.Exited); e.Code != 0 {
		t.Errorf("%s: %+v", name, e)
	}
	source.Drain()
	var got string
	select {
	case got = <-c.drained:
		if err := <-c.ended; err != io.EOF {
			t.Errorf("%s: ended with %v", name, err)
		}
	case err := <-c.ended:
		if got = c.all.String(); err != io.EOF {
			t.Errorf("%s: ended with %v", name, err)
		}
	}
	got = strings.ReplaceAll(got, "\r\n", "\n")
	if want := size + len("end\n"); len(got) != want || !strings.HasSuffix(got, "xend\n") {
		t.Fatalf("%s: %d bytes when drained, want %d", name, len(got), want)
	}
	finish(t, k)
}
