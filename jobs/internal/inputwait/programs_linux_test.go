package inputwait_test

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"shelld.dev/shelld/jobs/internal/inputwait"
)

const (
	reading   = inputwait.Reading
	listening = inputwait.Listening
	line      = inputwait.Line
	password  = inputwait.Password
	raw       = inputwait.Raw
	exact     = inputwait.Exact
	likely    = inputwait.Likely
)

// These programs wait for input alone. The verdict is only likely for those that wake up by themselves after some
// seconds.
func TestProgramsThatRead(t *testing.T) {
	for _, test := range []struct {
		name   string
		prompt string
		kind   inputwait.Kind
		sure   inputwait.Confidence
		args   []string
	}{
		{"cat", "", line, exact, []string{"cat"}},
		{"bash", "$ ", raw, exact, []string{"bash", "--norc", "-i"}},
		{"dash read", "name? ", line, exact, []string{"dash", "-c", `printf 'name? '; read x`}},
		{"bash read", "name? ", line, exact, []string{"bash", "-c", `read -p 'name? ' x`}},
		{"bash read -s", "secret? ", password, exact, []string{"bash", "-c", `read -s -p 'secret? ' x`}},
		{"bash read -n1", "key? ", raw, exact, []string{"bash", "-c", `read -n1 -p 'key? ' x`}},
		{"python3", ">>> ", raw, exact, []string{"python3", "-q"}},
		{"getpass", "Password: ", password, exact, []string{"python3", "-c", "import getpass; getpass.getpass()"}},
		{"input", "name? ", line, exact, []string{"python3", "-c", "input('name? ')"}},
		{"less", "END", raw, exact, []string{"bash", "-c", "echo text | less"}},
		{"vim", "~", raw, likely, []string{"vim", "-u", "NONE", "-n"}},
		{"node", "> ", raw, likely, []string{"node", "-i"}},
		{"gdb", "(gdb) ", raw, exact, []string{"gdb", "-q", "-nx"}},
		{"zsh", "", raw, exact, []string{"zsh", "-f", "-i"}},
		{"fish", "", raw, likely, []string{"fish", "--no-config", "-i"}}, // likely until its thread has ended
		{"ed", "*", line, exact, []string{"ed", "-p*"}},
		{"bc", "", raw, exact, []string{"bash", "-c", "bc -q"}},
		{"sqlite3", "sqlite> ", raw, exact, []string{"sqlite3"}},
		{"lua", "> ", raw, exact, []string{"lua", "-i"}},
		{"perl -d", "DB<", line, exact, []string{"perl", "-de", "0"}},
		{"nano", "GNU nano", raw, exact, []string{"nano", "-I"}},
		{"dialog", "really?", raw, exact, []string{"dialog", "--yesno", "really?", "10", "40"}},
		{"find and less", "/", raw, exact, []string{"bash", "-c", "seq 1000000 | sed s,^,/, | less"}},
		{"top", "PID", raw, likely, []string{"top"}},
		{"htop", "PID", raw, likely, []string{"htop"}},
		{"ssh-keygen", "passphrase", password, exact, []string{"ssh-keygen", "-t", "ed25519", "-f", filepath.Join(t.TempDir(), "key")}},
		{"rm -i", "?", line, exact, []string{"bash", "-c", `touch "$0" && rm -i "$0"; :`, filepath.Join(t.TempDir(), "file")}},
		{"bash in bash", "# ", raw, exact, []string{"bash", "-c", "PS1='# ' bash --norc -i"}},
		{"cat in a pipeline", "", line, exact, []string{"bash", "-c", "cat | cat | cat"}},
		{"cat in another session", "", line, exact, []string{"bash", "-c", "setsid -w cat; :"}},
		{"a sibling process sleeps", "go? ", line, exact, []string{"bash", "-c", "sleep 60 & read -p 'go? ' x"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			need(t, test.args[0])
			onTerminal(t, test.args...).waits(test.prompt, reading, test.kind, test.sure)
		})
	}
}

// irb queries the cursor position from the terminal, and reads the answer like keys. Then it polls for keys in short
// intervals or reads, depending on its line editor.
func TestIrb(t *testing.T) {
	const question, answer = "\x1b[6n", "\x1b[1;2R"
	j := onTerminal(t, "irb", "-f")
	answers := 0
	j.await("waiting", func(v inputwait.Verdict) bool {
		for ; answers < strings.Count(j.printed(), question); answers++ {
			j.write(answer)
		}
		return v.Waiting && strings.Contains(j.printed(), "> ")
	})
}

// The system calls of programs with another word size have other numbers.
func TestOtherWordSize(t *testing.T) {
	program := filepath.Join(t.TempDir(), "program")
	need(t, "gcc")
	gcc := exec.Command("gcc", "-m32", "-nostdlib", "-static", "-ffreestanding", "-fno-pie", "-no-pie", "-x", "c", "-o", program, "-")
	gcc.Stdin = strings.NewReader(`
void _start(void) {
	char b[64];
	int n;
	__asm__ volatile("int $0x80" :: "a"(4), "b"(1), "c"("name? "), "d"(6));
	for (;;)
		__asm__ volatile("int $0x80" : "=a"(n) : "a"(3), "b"(0), "c"(b), "d"(64) : "memory");
}`)
	if out, err := gcc.CombinedOutput(); err != nil {
		t.Skipf("no 32-bit programs can be built: %v\n%s", err, out)
	}
	needExecutable(t, program)
	onTerminal(t, program).waits("name? ", reading, line, likely)
}

// needExecutable skips the test, also in CI, if the kernel does not run programs of this kind: then no installable
// package is missing.
func needExecutable(t *testing.T, program string) {
	t.Helper()
	probe := exec.Command(program)
	err := probe.Start()
	if errors.Is(err, syscall.ENOEXEC) {
		t.Skipf("the kernel runs no 32-bit programs (IA32 emulation is off): %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := probe.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = probe.Wait() // It was killed.
}

// An undisturbed wait is reported again without a search, but not for ever, and not right after new output or input.
// The terminal is not read: a probe during a read cannot be exact.
func TestWaitThatGoesOn(t *testing.T) {
	j := unread(t, "cat")
	j.waits("", reading, line, exact)
	first := j.prober.Look(0)
	for i := range 20 {
		if v := j.prober.Look(deadline); v != first {
			t.Fatalf("look %d: %+v, want %+v", i, v, first)
		}
		if n, want := inputwait.Rests(j.prober), i%8; n != want {
			t.Fatalf("after look %d that many rely on the last search: %d, want %d", i, n, want)
		}
	}
	j.prober.Look(0)
	if n := inputwait.Rests(j.prober); n != 0 {
		t.Errorf("%d looks rely on one before what has just happened", n)
	}
}

// A process may go on without its first thread.
func TestFirstThreadEnded(t *testing.T) {
	const code = `
import ctypes, platform, threading
def ask(): input('name? ')
threading.Thread(target=ask).start()
ctypes.CDLL(None).syscall({'x86_64': 60, 'aarch64': 93}[platform.machine()], 0)
`
	onTerminal(t, "python3", "-c", code).waits("name? ", reading, line, exact)
}
