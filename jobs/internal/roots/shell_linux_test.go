package roots

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

var (
	lines = flag.Int("lines", 120, "how many generated lines each shell runs")
	seed  = flag.Uint64("seed", 1, "of the generated lines")
)

// TestAgainstShells lets shells run generated lines, and holds what they ran against
// what was found. The commands are stubs that say their names on a descriptor, so
// that nothing of what is tested takes part in telling what ran. A stub prints
// the name of another, which a line may run in its turn.
func TestAgainstShells(t *testing.T) {
	for _, shell := range []struct{ name, path string }{{"bash", "bash"}, {"sh", "dash"}, {"zsh", "zsh"}, {"ksh", "mksh"}, {"ksh93", "ksh"}} {
		t.Run(shell.path, func(t *testing.T) {
			path, err := exec.LookPath(shell.path)
			if err != nil && shell.path != "bash" && os.Getenv("SHELLD_CI") == "" {
				t.Skip(err)
			}
			if err != nil {
				t.Fatal(err)
			}
			runGenerated(t, shell.name, path)
		})
	}
}

func runGenerated(t *testing.T, name, path string) {
	bin, dir := stubs(t), t.TempDir()
	g := &generator{Rand: rand.New(rand.NewPCG(*seed, uint64(len(name))))}
	var known, ran int
	for i := range *lines {
		line := g.line()
		for name == "sh" && slices.ContainsFunc(bashisms, func(b string) bool { return strings.Contains(line, b) }) {
			line = g.line()
		}
		if i%2 == 0 && !strings.Contains(line, "while") && !strings.Contains(line, "for ((") { // which might not end
			line = g.mutated(line)
		}
		found := Line{Text: line, Shell: name}.Roots()
		trace := runLine(t, path, line, bin, dir)
		ran += len(trace)
		if found.Unknown() {
			continue
		}
		known++
		for _, command := range trace {
			if !slices.ContainsFunc(found.Roots, func(root string) bool { return base(root) == command }) {
				t.Errorf("%s ran %s, which is no root of %q: %q", name, command, line, found.Roots)
			}
		}
	}
	t.Logf("%d lines, %d of them known; %d commands ran", *lines, known, ran)
	if known < *lines/20 || ran < *lines/2 {
		t.Error("too little was tried")
	}
}

// bashisms make a line of sh one that is not known.
var bashisms = []string{"|&", "&>", "<<<", "[[", "<(", "((1)) &&", "time ", "$'", "declare", "=(", "for ((", "function", "coproc", "{fd}", ";&", ";;&", "/a/"}

// stubs makes a directory for PATH, with commands that say that they ran, and
// wrappers.
func stubs(t *testing.T) string {
	bin := t.TempDir()
	for i := range 10 {
		name := fmt.Sprintf("c%d", i)
		script := fmt.Sprintf("#!/bin/sh\necho %s >&3\necho c%d\nexit %d\n", name, (i+1)%10, i%2)
		if err := os.WriteFile(filepath.Join(bin, name), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"bash", "sh", "env", "xargs", "find", "timeout", "nice", "nohup", "setsid", "stdbuf", "cat"} {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(path, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	return bin
}

// runLine runs a line and returns the stubs that ran. It returns when nobody is
// left who could say something.
func runLine(t *testing.T, shell, line, bin, dir string) []string {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute) // a watchdog: lines end by themselves
	defer cancel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd := exec.CommandContext(ctx, shell, "-c", line)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + bin, "FUNCNEST=20", "ZDOTDIR=" + dir, "HOME=" + dir, "LC_ALL=C.UTF-8"}
	cmd.ExtraFiles = []*os.File{w}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	said, err := io.ReadAll(r)
	_ = cmd.Wait() // Any status will do.
	if err != nil || ctx.Err() != nil {
		t.Errorf("%q did not end: %v", line, ctx.Err())
	}
	return strings.Fields(string(said))
}

// A generator makes lines of what shells have. None has a slash or a dot in it, so
// that a line that went wrong cannot leave its directory.
type generator struct {
	*rand.Rand
	documents []string // here-documents that the next newline has to bring
}

func (g *generator) line() string {
	g.documents = nil
	n := 1 + g.IntN(3)
	var b strings.Builder
	for range n {
		b.WriteString(g.statement(3))
		b.WriteString(g.pick(";", "\n", "\n", " & wait\n", ";  # c9 'x\n"))
		if strings.HasSuffix(b.String(), "\n") {
			b.WriteString(g.flush())
		}
	}
	return b.String() + "\n" + g.flush()
}

func (g *generator) flush() string {
	text := strings.Join(g.documents, "")
	g.documents = nil
	return text
}

func (g *generator) pick(choices ...string) string { return choices[g.IntN(len(choices))] }

func (g *generator) command() string { return fmt.Sprintf("c%d", g.IntN(10)) }

// spelled is a name of a command as it can be written.
func (g *generator) spelled() string {
	c := g.command()
	if g.IntN(60) == 0 {
		return g.pick("$"+c, "${x}"+c, "{"+c+",c9}", "c["+c[1:]+"]", "$'"+c+"'")
	}
	return g.pick(c, c, c, c, "'"+c+"'", `"`+c+`"`, `c\`+c[1:], `c""`+c[1:], "c\\\n"+c[1:])
}

// statement is one without an end. Loops end by the status of what they ask.
func (g *generator) statement(depth int) string {
	if depth == 0 {
		return g.simple(0)
	}
	s := func() string { return g.statement(depth - 1) }
	switch g.IntN(30) {
	case 0:
		return s() + g.pick(" | ", " && ", " || ", "|", " |& ") + s()
	case 1:
		return "(" + s() + ")"
	case 2:
		return "{ " + s() + "; }"
	case 3:
		return "if " + s() + "; then " + s() + g.pick("", "; else "+s(), "; elif c0; then "+s()) + "; fi"
	case 4:
		return "while c1; do " + s() + "; done" // a broken pipe does not make it go on
	case 5:
		return "for x in 1 " + g.argument(depth-1) + "; do " + s() + "; done"
	case 6:
		return "case " + g.argument(depth-1) + " in c*) " + s() + ";; (*) " + s() + ";; esac"
	case 7:
		return "f() { " + s() + "; }; " + g.pick("f", "f; f x", ":")
	case 8:
		return "! " + s()
	case 9:
		return g.pick("[[", "[") + " a = " + g.argument(depth-1) + g.pick(" ]]", " ]") + " || " + s()
	case 10:
		return "eval " + singleQuoted(s())
	case 11:
		return g.pick("bash", "sh") + " -c " + singleQuoted(s())
	case 12:
		return "(trap " + singleQuoted(s()) + " EXIT)"
	case 13:
		return g.pick("env ", "env X=1 ", "nice ", "nohup ", "timeout 9 ", "xargs ", "command ", "exec ", "setsid -w ", "env -i ") + g.simple(depth-1)
	case 14:
		return "find -maxdepth 0 -exec " + g.command() + g.pick(" {}", "", " x") + " ';'"
	case 15, 19:
		begin := g.pick(" <<E", " <<E", " <<'E'", " <<-E", ` <<\E`, ` <<"E" `) + g.pick("", "", " "+g.argument(depth-1))
		g.documents = append(g.documents, g.document(depth-1))
		return g.spelled() + begin
	case 16:
		return "x=" + g.argument(depth-1) + g.pick("", "", "", "; "+s(), "; "+s(), "; "+s(), "; echo $((x))", "; $x", "; eval $x")
	case 17:
		return "time " + s()
	case 18:
		return "((1)) && " + s()
	case 20:
		return g.pick("declare", "export", "a=(1); readonly") + " z=" + g.argument(depth-1)
	case 21:
		return "b=(" + g.argument(depth-1) + " [3]=" + g.argument(depth-1) + "); " + s()
	case 22:
		return "for ((i=0; i<2; i++)) { " + s() + "; }"
	case 23:
		return "function g {\n" + s() + "\n} 2>o; g"
	case 24:
		return "[[ x =~ ^(a|x)" + g.pick("$", "", "*", "[[:alpha:]]") + " ]] && " + s()
	case 25:
		return g.pick("coproc ", "coproc N ") + "{ " + s() + "; } <&-; wait"
	case 26:
		return "{fd}>o " + g.simple(depth-1)
	case 27:
		return "case x in x|y) " + s() + g.pick(";&", ";;&", ";;") + " *) " + s() + "\nesac"
	}
	return g.simple(depth)
}

func (g *generator) simple(depth int) string {
	var b strings.Builder
	b.WriteString(g.pick("", "", "", "X="+g.argument(depth)+" "))
	b.WriteString(g.spelled())
	for range g.IntN(3) {
		b.WriteString(g.pick(" ", "\t", " \\\n"))
		b.WriteString(g.argument(depth))
	}
	b.WriteString(g.pick("", "", " >o", " 2>&1", " <<<x", " &>o"))
	return b.String()
}

func (g *generator) argument(depth int) string {
	if depth <= 0 {
		return g.pick("a", `'$(c9)'`, `"a'b"`, `'"'`, `\"`, `"\""`, `a#b`, `$'\''`, `\$`, "c1", `"\$(c9)"`, "$((1+1))", "${#x}", `"$x"`, "'`c9`'", "\"a\nc9\"", "'a\nc9'")
	}
	s := g.statement(depth - 1)
	if g.IntN(30) == 0 {
		return g.pick("$((1+$("+s+")))", `"${y:-'$(`+s+`)'}"`, "$(("+g.command()+"))", "<("+s+")")
	}
	return g.pick("$("+s+")", `"$(`+s+`)"`, "`"+g.command()+" a`", "${y:-$("+s+")}", `"${y:-$(`+g.command()+`)}"`, `"a'$(`+s+`)'b"`, "$(\n"+s+"\n)",
		"${y:-'$(c9)'}", "a", "${u/a/$("+s+")}", "${PWD##*$("+g.command()+")}", "$(# it's\n"+s+" # don't\n)", "$( ("+s+") )", "$(case x in (x) "+s+";; y) c9; esac)", "\"$(case x in x) "+g.command()+";; esac)\"", "'"+g.command()+"'")
}

func (g *generator) document(depth int) string {
	return g.pick("", "text\n", "'") + g.argument(depth) + g.pick("", "'", `"`) + "\n" + g.pick("", "`c3`\n", "\\$(c9)\n", "${y:-$(c4)}\n", "E c9\n", " E\n") + g.pick("E\n", "E\n", "E\n", "\tE\n")
}

func singleQuoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// tokens have a meaning of their own to a shell, some only where they stand.
var tokens = []string{
	"'", "\"", "`", "$(", ")", "{ ", "; }", ";", "&", "|", " || ", " && ", "<", ">", "#", " # ", "\n", " ",
	"\\", "\\\n", "!", "=", "c", "${y:-", "}", " <<E\n", "E\n", "((", "))", "$'", "$((", "<(", "@(", "[[ ",
	" ]]", "esac", "if ", "fi", ";; ", "coproc ", "in ", "do ", "&>", "2>", "~", "[", "*", ",", "..", "\t",
	"!(", "function ", "time ", "{", "}", "|&", "&|", "=(", ">!", "$~", "${~", "${=", "$[", ";|", "()", "+", "$+", "$#", "$x[", "]", "<>", ">&",
	"-", "then ", "else ", "done", "@", "%", "?", ":", "_", "x=", "select ", "{c1}", "\"$#", "-c ", "+x ",
}

// mutated changes a few places, so that lines come up that nobody would write.
func (g *generator) mutated(line string) string {
	b := []byte(line)
	for range 1 + g.IntN(3) {
		if g.IntN(4) == 0 { // where a line goes on
			b = slices.Insert(b, g.IntN(len(b)), '\\', '\n')
			continue
		}
		from := g.IntN(len(b))
		to := from + g.IntN(2)
		b = slices.Replace(b, from, to, []byte(g.pick(tokens...))...)
	}
	return string(b)
}
