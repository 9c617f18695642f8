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

// A plainShell is an interactive shell on a terminal, without us: what is typed there is what
// job/exec is held against. All that it has beside its own is what tells the status.
//
// bash and zsh read their lines without a line editor, from a terminal that does not echo, so that
// nothing but prompts and output is in the stream. What stands around the output is seen from the
// line that asks for the status: that is typed until two answers in a row have the same before them,
// which is the prompt, with all that hooks and options print around it. So commands may change
// prompts and hooks at will. fish has no such mode; its events say where a command begins and ends.
type plainShell struct {
	t      *testing.T
	name   string
	home   string
	cmd    *exec.Cmd
	master *os.File
	seen   []byte // what has come and was not looked at
	prompt string // what stands before each line that is read
}

const (
	// plainAsk asks for the status and the directory, and changes neither, whatever is traced or
	// trapped. What it writes to the terminal begins with plainBegin and ends with plainEnd.
	plainAsk = "{ __plain; } >/dev/null 2>&1\n"

	plainBegin, plainEnd = "\x1e{", "}\x1e"

	plainPrompt = "\x1f>\x1f" // until a command sets another

	plainPosix = `PS1=$'\x1f>\x1f' PS2=
__plain() { { builtin set -- $?; builtin printf '\036{%s;%s}\036' "$1" "$PWD" >/dev/tty; return $1; } 2>/dev/null; }
`
	// The key puts what is in the file into the line, as an external editor does.
	plainFish = `function fish_greeting; end
function fish_title; end
function __plain_begin --on-event fish_preexec; builtin printf '\x1e{}\x1e' >/dev/tty; end
function __plain_end --on-event fish_postexec; set -l s $status; builtin printf '\x1e{%s;%s}\x1e' $s "$PWD" >/dev/tty; end
function __plain_key; builtin commandline -r -- (string collect -N <"HOME/.typed"); builtin commandline -f execute; end
for mode in default insert; bind -M $mode \e\[9~ __plain_key; end
`
	plainKey = "\x1b[9~"
)

// startPlain starts a shell on a terminal of the size that jobs have.
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

// plainTerminal opens both ends of a terminal. Reads of the first can be given up.
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
	// Go would have reads of the shell's give up as well.
	path := "/dev/pts/" + strconv.Itoa(number)
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		_ = master.Close()
		t.Fatal(path, err)
	}
	return master, os.NewFile(uintptr(fd), path)
}

// plainControl does something with a terminal that leaves it able to give up reads.
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

// mute has the terminal echo nothing, and take any byte for itself, as that of a line editor does.
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

// run types a command, and tells what came of it.
func (p *plainShell) run(command string) executed {
	p.t.Helper()
	if p.name == "fish" {
		return p.runFish(command)
	}
	p.mute()
	before := p.prompt
	if i := strings.LastIndex(before, plainPrompt); i >= 0 {
		before = before[:i+len(plainPrompt)] // what is behind it came of the question
	}
	got := p.tell(goesOn(command) + "\n" + plainAsk)
	p.mute()
	p.settle()
	// What is before the prompt that was there has come before the command was typed.
	_, raw, begins := strings.Cut(got.raw, before)
	raw, ends := strings.CutSuffix(raw, p.prompt)
	if !begins || !ends {
		p.t.Errorf("%s: %.400q is not what %.300q gives between prompts %q and %q", p.name, got.raw, command, before, p.prompt)
	}
	if strings.Contains(command, "\n") && p.prompt != "" {
		raw = strings.ReplaceAll(raw, p.prompt, "") // it stands before each line
	}
	got.raw = raw
	return got
}

// goesOn gives a line that goes on an empty one, as who has typed it does then.
func goesOn(command string) string {
	if n := len(command) - len(strings.TrimRight(command, `\`)); n%2 == 1 {
		return command + "\n"
	}
	return command
}

// settle types the question until what comes before the answer is the same twice: what a job in the
// background has to say is said once.
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

// runFish is run for a shell that always has a line editor.
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
	// What fish itself writes before a command.
	got.raw = strings.TrimPrefix(strings.TrimPrefix(got.raw, "\x1b[?2004l"), "\x1b[30m\x1b(B\x1b[m")
	return got
}

// tell types something that has an answer, and gives what came before it.
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

// write types a text that may be longer than what a terminal keeps, which only moves while somebody
// reads what the shell writes.
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

// until reads to the next answer.
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

// whole runs a command that is not typed line by line: it has to be seen at once that it is not
// complete. bash and zsh are started for it; fish does not take such a line either.
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
	if !errors.Is(err, unix.EIO) { // which is how a terminal says that nobody has it open
		p.t.Fatalf("%s: %.300q does not end: %v", p.name, command, err)
	}
	_ = one.cmd.Wait()
	p.settle()
	here := p.tell(plainAsk)
	// Nothing but a line that is typed has no number in zsh.
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
