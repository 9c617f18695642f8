package shellmark

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

// watchdog is the time limit for operations that normally take milliseconds.
const watchdog = time.Minute

// TestMain checks that the tests leave no goroutine, no descriptor and no child behind.
func TestMain(m *testing.M) {
	before := descriptors()
	code := m.Run()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, "goroutines are left:", err)
			code = 1
		}
		if now := descriptors(); len(now) > len(before) {
			fmt.Fprintln(os.Stderr, "descriptors are left:", now)
			code = 1
		}
		if pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil); err != unix.ECHILD {
			fmt.Fprintln(os.Stderr, "a child is left:", pid, err)
			code = 1
		}
	}
	os.Exit(code)
}

// descriptors returns the open files of this process, without those of Go's poller.
func descriptors() (links []string) {
	entries, _ := os.ReadDir("/proc/self/fd")
	for _, e := range entries {
		link, err := os.Readlink("/proc/self/fd/" + e.Name())
		if err == nil && !strings.HasPrefix(link, "anon_inode:[event") {
			links = append(links, link)
		}
	}
	return links
}

// A session is a shell with the integration, on a terminal.
type session struct {
	t     testing.TB
	shell Shell
	home  string
	dir   string
	cmd   *exec.Cmd
	pty   *os.File
	fifo  *os.File
	r     *Reader
	nonce string

	chunk []byte
	out   []byte // all output
	marks []Mark // with positions in out
	next  int    // the first mark that await has not returned
	seq   int64  // of the last payload
}

// A setup is the environment of a shell at its start.
type setup struct {
	argv  []string          // default: the shell
	files map[string]string // in the home directory
	env   []string
	plain bool                     // without the integration
	edit  func(text []byte) []byte // changes the shelld start-up file
}

// start starts a shell, and waits for its first prompt.
func start(t testing.TB, shell Shell, with setup) *session {
	t.Helper()
	file, err := exec.LookPath(string(shell))
	if err != nil {
		if os.Getenv("SHELLD_CI") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	s := &session{t: t, shell: shell, home: t.TempDir(), dir: t.TempDir(), nonce: random(), chunk: make([]byte, 32<<10)}
	s.home, _ = filepath.EvalSymlinks(s.home)
	s.write(s.home, with.files)
	// Without this directory fish parses all manual pages of the machine in the background, in each new home.
	s.must(os.MkdirAll(filepath.Join(s.home, ".local/share/fish/generated_completions"), 0o700))
	if with.argv == nil {
		with.argv = []string{string(shell)}
	}
	env := append([]string{"HOME=" + s.home, "PATH=" + os.Getenv("PATH"), "TERM=xterm-256color", "LANG=C.UTF-8"}, with.env...)
	argv := with.argv
	s.must(unix.Mkfifo(filepath.Join(s.dir, "command"), 0o600))
	s.fifo, err = os.OpenFile(filepath.Join(s.dir, "command"), os.O_RDWR, 0)
	s.must(err)
	if !with.plain {
		if got, ok := For(file, argv); !ok || got != shell {
			t.Fatalf("%q is no %s: %q, %v", argv, shell, got, ok)
		}
		launch := NewLaunch(shell, argv, env, s.place())
		for name, text := range launch.Files {
			if with.edit != nil {
				text = with.edit(text)
			}
			s.write(s.dir, map[string]string{name: string(text)})
		}
		for name, value := range launch.Env {
			env = append(env, name+"="+value)
		}
		argv = launch.Argv
	}
	s.onTerminal(file, argv, env)
	if !with.plain {
		s.await(Ready)
		for name := range NewLaunch(shell, with.argv, env, s.place()).Files {
			s.must(os.Remove(filepath.Join(s.dir, name)))
		}
	}
	return s
}

func random() string {
	b := make([]byte, 16)
	rand.Read(b)
	return hex.EncodeToString(b)
}

func (s *session) write(dir string, files map[string]string) {
	s.t.Helper()
	for name, text := range files {
		s.must(os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
		s.must(os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
}

func (s *session) onTerminal(file string, argv, env []string) {
	s.t.Helper()
	s.r = NewReader(s.nonce)
	s.cmd = &exec.Cmd{Path: file, Args: argv, Env: env, Dir: s.home}
	terminal, err := pty.StartWithSize(s.cmd, &pty.Winsize{Rows: 24, Cols: 80})
	s.must(err)
	fd, err := unix.FcntlInt(terminal.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	s.must(err)
	terminal.Close()
	s.must(unix.SetNonblock(fd, true)) // so that reads have a deadline
	s.pty = os.NewFile(uintptr(fd), "terminal")
	s.t.Cleanup(s.close)
}

func (s *session) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// close ends the shell, by the signals of a closed terminal or by SIGKILL.
func (s *session) close() {
	s.pty.Close()
	s.fifo.Close()
	done := time.AfterFunc(watchdog, func() { s.cmd.Process.Kill() })
	defer done.Stop()
	s.cmd.Process.Signal(syscall.SIGHUP)
	s.cmd.Process.Signal(syscall.SIGCONT)
	s.cmd.Process.Signal(syscall.SIGKILL)
	s.cmd.Wait()
}

// read reads the next output; false: the end of the terminal.
func (s *session) read() bool {
	s.t.Helper()
	s.must(s.pty.SetReadDeadline(time.Now().Add(watchdog)))
	n, err := s.pty.Read(s.chunk)
	if errors.Is(err, syscall.EIO) {
		n, err = s.pty.Read(s.chunk) // There may be output from before the end was detected: see proc.Source.
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		s.t.Fatalf("nothing comes any more, after %q\nmarks %+v", tail(s.out), s.marks[s.next:])
	}
	if err != nil {
		return false
	}
	out, marks := s.r.Read(s.chunk[:n])
	for _, m := range marks {
		m.At += len(s.out)
		s.marks = append(s.marks, m)
	}
	s.out = append(s.out, out...)
	return true
}

// stat returns the kernel's state of the shell; the last number is its exit status as in wait(2).
func (s *session) stat() string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func tail(p []byte) []byte { return p[max(0, len(p)-600):] }

// await returns the next mark of a kind.
func (s *session) await(kind Kind) Mark {
	s.t.Helper()
	for {
		for ; s.next < len(s.marks); s.next++ {
			if m := s.marks[s.next]; m.Kind == kind {
				s.next++
				return m
			}
		}
		if !s.read() {
			s.t.Fatalf("the shell has ended before %v, after %q\n%s", kind, tail(s.out), s.stat())
		}
	}
}

// awaitText waits until a text occurs in the output after a position.
func (s *session) awaitText(from int, text string) {
	s.t.Helper()
	for !bytes.Contains(s.out[from:], []byte(text)) {
		if !s.read() {
			s.t.Fatalf("the shell has ended before %q, after %q\n%s", text, tail(s.out), s.stat())
		}
	}
}

// A result is the outcome of a command.
type result struct {
	out  string
	exit int
	cwd  string
}

// number returns the number for the next payload.
func (s *session) number() int64 {
	s.seq++
	return s.seq
}

// begin makes the shell run a command, and returns the mark at the start of its output.
func (s *session) begin(command string) Mark {
	s.t.Helper()
	payload, err := s.shell.Payload(s.number(), command)
	s.must(err)
	return s.give(payload, command)
}

// give makes the shell run a payload, as begin does.
func (s *session) give(payload []byte, command string) Mark {
	s.t.Helper()
	written := make(chan error, 1)
	go func() { // text beyond the size of a pipe is read as it is written
		_, err := s.fifo.Write(payload)
		written <- err
	}()
	s.typed(string(s.shell.Trigger()))
	s.await(Loaded)
	s.must(<-written)
	m := s.await(Began)
	if m.Seq != s.seq {
		s.t.Fatalf("%q is number %d, and %d began", command, s.seq, m.Seq)
	}
	return m
}

func (s *session) typed(keys string) {
	s.t.Helper()
	_, err := s.pty.Write([]byte(keys))
	s.must(err)
}

// end waits for the end of the command that began.
func (s *session) end(began Mark) result {
	s.t.Helper()
	ended := s.await(Ended)
	if ended.Seq != began.Seq {
		s.t.Fatalf("%+v began, and %+v ended", began, ended)
	}
	out := strings.ReplaceAll(string(s.out[began.At:ended.At]), "\r\n", "\n")
	s.await(Ready)
	return result{out, ended.Exit, ended.Cwd}
}

func (s *session) run(command string) result {
	s.t.Helper()
	return s.end(s.begin(command))
}

// hidden makes the shell run hidden code, and returns its status.
func (s *session) hidden(code string) int {
	s.t.Helper()
	payload, err := s.shell.HiddenPayload(s.number(), code)
	s.must(err)
	_, err = s.fifo.Write(payload)
	s.must(err)
	s.typed(string(s.shell.HiddenTrigger()))
	return s.await(Ran).Exit
}

// environment returns the shell's exported variables, as the shell reports them.
func (s *session) environment() []string {
	s.t.Helper()
	path := filepath.Join(s.dir, "environment")
	if status := s.hidden(s.shell.DumpEnvironment(path)); status != 0 {
		s.t.Fatalf("the environment could not be written: %d", status)
	}
	text, err := os.ReadFile(path)
	s.must(err)
	vars := strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00")
	slices.Sort(vars)
	return vars
}

// leave ends the shell by a command, and waits for its end.
func (s *session) leave(command string) {
	s.t.Helper()
	s.begin(command)
	for s.read() {
	}
}

// withDescriptor calls do with a file's descriptor, and leaves the file's mode unchanged.
func withDescriptor(f *os.File, do func(fd int) error) (err error) {
	c, err := f.SyscallConn()
	if err != nil {
		return err
	}
	if e := c.Control(func(fd uintptr) { err = do(int(fd)) }); e != nil {
		return e
	}
	return err
}

func (s *session) place() Place {
	return Place{s.dir, filepath.Join(s.dir, "command"), filepath.Join(s.dir, "scratch"), s.nonce}
}
