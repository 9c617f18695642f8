package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A plainShell is an interactive shell on a terminal, without shelld: its results for typed input are the reference for
// job/exec. It differs from an unmodified shell only in the code that reports the status.
//
// bash and zsh read their lines without a line editor, from a terminal that does not echo, so that the stream contains
// only prompts and output. The text around the output is known from the line that asks for the status: it is typed
// until two consecutive answers have the same text before them, which is the prompt, with all that hooks and options
// print around it. So commands may change prompts and hooks at will. fish has no such mode; its events mark the
// beginning and the end of a command.
type plainShell struct {
	t      *testing.T
	name   string
	home   string
	cmd    *exec.Cmd
	master *os.File
	seen   []byte // output not yet processed
	prompt string // the text before each line that is read
}

const (
	// plainAsk asks for the status and the directory, and changes neither, even with tracing or traps. Its output on
	// the terminal begins with plainBegin and ends with plainEnd.
	plainAsk = "{ __plain; } >/dev/null 2>&1\n"

	plainBegin, plainEnd = "\x1e{", "}\x1e"

	plainPrompt = "\x1f>\x1f" // until a command sets another

	plainPosix = `PS1=$'\x1f>\x1f' PS2=
__plain() { { builtin set -- $?; builtin printf '\036{%s;%s}\036' "$1" "$PWD" >/dev/tty; return $1; } 2>/dev/null; }
`
	// The key puts the contents of the file into the line, as an external editor does.
	plainFish = `function fish_greeting; end
function fish_title; end
function __plain_begin --on-event fish_preexec; builtin printf '\x1e{}\x1e' >/dev/tty; end
function __plain_end --on-event fish_postexec; set -l s $status; builtin printf '\x1e{%s;%s}\x1e' $s "$PWD" >/dev/tty; end
function __plain_key; builtin commandline -r -- (string collect -N <"HOME/.typed"); builtin commandline -f execute; end
for mode in default insert; bind -M $mode \e\[9~ __plain_key; end
`
	plainKey = "\x1b[9~"
)

// startPlain starts a shell on a terminal with the size of a job's terminal.
func startPlain(t *testing.T, base, name string, files map[string]string) *plainShell {
	t.Helper()
	needShell(t, name)
	p := &plainShell{t: t, name: name, home: plainHome(t, base, name, files)}
	p.open(map[string][]string{"bash": {"bash", "--noediting"}, "zsh": {"zsh", "+Z"}, "fish": {"fish"}}[name]...)
	t.Cleanup(p.end)
	if name != "fish" {
		p.settle()
	}
	return p
}

// plainHome makes the directory in which a shell starts.
func plainHome(t *testing.T, base, name string, files map[string]string) string {
	t.Helper()
	home, err := os.MkdirTemp(base, name+"-")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{".bashrc": plainPosix, ".zshrc": plainPosix + "unsetopt prompt_sp prompt_cr\n",
		".config/fish/config.fish": strings.ReplaceAll(plainFish, "HOME", home)}
	for file, text := range files {
		all[file] = text
	}
	for file, text := range all {
		path := filepath.Join(home, file)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), writeProgram(path, []byte(text))); err != nil {
			t.Fatal(err)
		}
	}
	seenPages(t, home)
	return home
}

// open starts argv on a new terminal.
func (p *plainShell) open(argv ...string) {
	p.t.Helper()
	master, slave := plainTerminal(p.t)
	defer slave.Close()
	p.master = master
	if p.name != "fish" {
		p.mute()
	}
	p.cmd = exec.Command(argv[0], argv[1:]...)
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = slave, slave, slave
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	p.cmd.Dir = p.home
	p.cmd.Env = []string{"HOME=" + p.home, "PWD=" + p.home, "XDG_RUNTIME_DIR=" + p.home, "PATH=" + os.Getenv("PATH"), "TERM=xterm-256color", "LC_ALL=C.UTF-8"}
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
}

// plainTerminal opens both ends of a terminal. Reads of the master can have a deadline.
func plainTerminal(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	var number int
	plainControl(t, master, func(fd int) (err error) {
		if number, err = unix.IoctlGetInt(fd, unix.TIOCGPTN); err != nil {
			return err
		}
		return errors.Join(unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0), unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80}))
	})
	// os.OpenFile would make reads of the shell's end non-blocking as well.
	path := "/dev/pts/" + strconv.Itoa(number)
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		_ = master.Close()
		t.Fatal(path, err)
	}
	return master, os.NewFile(uintptr(fd), path)
}

// plainControl calls do with a terminal's descriptor, without making the terminal blocking.
func plainControl(t *testing.T, f *os.File, do func(fd int) error) {
	t.Helper()
	raw, err := f.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if other := raw.Control(func(fd uintptr) { err = do(int(fd)) }); errors.Join(err, other) != nil {
		t.Fatal(errors.Join(err, other))
	}
}

// mute sets the terminal to no echo and to passing every byte on, as a line editor does.
func (p *plainShell) mute() {
	p.t.Helper()
	plainControl(p.t, p.master, func(fd int) error {
		mode, err := unix.IoctlGetTermios(fd, unix.TCGETS)
		if err != nil {
			return err
		}
		mode.Iflag, mode.Lflag = 0, 0
		mode.Oflag = unix.OPOST | unix.ONLCR
		mode.Cc[unix.VMIN], mode.Cc[unix.VTIME] = 1, 0
		return unix.IoctlSetTermios(fd, unix.TCSETS, mode)
	})
}

// run types a command, and returns its result.
func (p *plainShell) run(command string) executed {
	p.t.Helper()
	if p.name == "fish" {
		return p.runFish(command)
	}
	p.mute()
	before := p.prompt
	if i := strings.LastIndex(before, plainPrompt); i >= 0 {
		before = before[:i+len(plainPrompt)] // The rest was printed by the question.
	}
	got := p.tell(goesOn(command) + "\n" + plainAsk)
	p.mute()
	p.settle()
	// The text before the earlier prompt was printed before the command was typed.
	_, raw, begins := strings.Cut(got.raw, before)
	raw, ends := strings.CutSuffix(raw, p.prompt)
	if !begins || !ends {
		p.t.Errorf("%s: %.400q is not what %.300q gives between prompts %q and %q", p.name, got.raw, command, before, p.prompt)
	}
	if strings.Contains(command, "\n") && p.prompt != "" {
		raw = strings.ReplaceAll(raw, p.prompt, "") // The prompt is printed before each line.
	}
	got.raw = raw
	return got
}

// goesOn adds an empty line to a command whose last line continues, as a person would type.
func goesOn(command string) string {
	if n := len(command) - len(strings.TrimRight(command, `\`)); n%2 == 1 {
		return command + "\n"
	}
	return command
}

// settle types the question until the text before the answer is the same twice: a message about a background job is
// printed only once.
func (p *plainShell) settle() {
	p.t.Helper()
	p.prompt = p.tell(plainAsk).raw
	for range 5 {
		before := p.prompt
		if p.prompt = p.tell(plainAsk).raw; p.prompt == before {
			return
		}
	}
	p.t.Fatalf("%s: no two prompts are the same: %.400q", p.name, p.prompt)
}

// runFish is run for fish, which always has a line editor.
func (p *plainShell) runFish(command string) executed {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.home, ".typed"), []byte(goesOn(command)), 0o600); err != nil {
		p.t.Fatal(err)
	}
	wrote := p.write(plainKey)
	_, empty := p.until()
	if empty != "" {
		p.t.Fatalf("fish: %.300q has ended before it began: %q", command, empty)
	}
	got := p.answer(p.until())
	p.wrote(wrote)
	// fish itself prints this before a command.
	got.raw = strings.TrimPrefix(strings.TrimPrefix(got.raw, "\x1b[?2004l"), "\x1b[30m\x1b(B\x1b[m")
	return got
}

// tell types a text that includes the question, and returns the output before the answer.
func (p *plainShell) tell(text string) executed {
	p.t.Helper()
	wrote := p.write(text)
	got := p.answer(p.until())
	p.wrote(wrote)
	return got
}

func (p *plainShell) answer(before, answer string) executed {
	p.t.Helper()
	status, cwd, ok := strings.Cut(answer, ";")
	exit, err := strconv.ParseInt(status, 10, 64)
	if !ok || err != nil {
		p.t.Fatalf("%s: %q is no answer", p.name, answer)
	}
	lines := strings.NewReplacer("\r\n", "\n")
	raw := lines.Replace(before)
	raw = strings.ReplaceAll(raw, plainAsk, "") // under set -v
	return executed{raw: raw, exit: exit, cwd: lines.Replace(cwd)}
}

// write types a text in the background: it may be longer than the terminal's buffer, and is then written only while the
// shell's output is read.
func (p *plainShell) write(text string) <-chan error {
	done := make(chan error, 1)
	go func() {
		_, err := io.WriteString(p.master, text)
		done <- err
	}()
	return done
}

func (p *plainShell) wrote(done <-chan error) {
	p.t.Helper()
	if err := <-done; err != nil {
		p.t.Fatal(err)
	}
}

// until reads up to the next answer.
func (p *plainShell) until() (before, answer string) {
	p.t.Helper()
	if err := p.master.SetDeadline(time.Now().Add(watchdog)); err != nil {
		p.t.Fatal(err)
	}
	chunk := make([]byte, 64<<10)
	for {
		if b, rest, ok := bytes.Cut(p.seen, []byte(plainBegin)); ok {
			if a, rest, ok := bytes.Cut(rest, []byte(plainEnd)); ok {
				before, answer = string(b), string(a)
				p.seen = bytes.Clone(rest)
				return before, answer
			}
		}
		n, err := p.master.Read(chunk)
		p.seen = append(p.seen, chunk[:n]...)
		if err != nil {
			p.t.Fatalf("%s has no answer (%v) after %.2000q", p.name, err, p.seen)
		}
	}
}

// whole runs a command that must be parsed as a whole, so that the shell notices that it is incomplete. bash and zsh
// are started for it; fish does not accept such a line when typed, either.
func (p *plainShell) whole(command string) executed {
	p.t.Helper()
	if p.name == "fish" {
		if err := os.WriteFile(filepath.Join(p.home, ".whole"), []byte(command), 0o600); err != nil {
			p.t.Fatal(err)
		}
		return p.runFish(`eval (string collect -N <"` + p.home + `/.whole")`)
	}
	one := &plainShell{t: p.t, name: p.name, home: p.home}
	one.open(p.name, "-i", "-c", command)
	defer one.end()
	if err := one.master.SetDeadline(time.Now().Add(watchdog)); err != nil {
		p.t.Fatal(err)
	}
	out, err := io.ReadAll(one.master)
	if !errors.Is(err, unix.EIO) { // A terminal returns EIO when no process has it open.
		p.t.Fatalf("%s: %.300q does not end: %v", p.name, command, err)
	}
	_ = one.cmd.Wait()
	p.settle()
	here := p.tell(plainAsk)
	// Only in typed lines, zsh prints no line number.
	text := regexp.MustCompile(`(?m)^zsh:\d+:`).ReplaceAllString(strings.ReplaceAll(string(out), "\r\n", "\n"), "zsh:")
	return executed{raw: text, exit: int64(one.cmd.ProcessState.ExitCode()), cwd: here.cwd}
}

// end ends the shell.
func (p *plainShell) end() {
	if p.cmd.ProcessState == nil {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
	}
	_ = p.master.Close()
}
