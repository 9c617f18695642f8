package inputwait_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"shelld.dev/shelld/jobs/internal/inputwait"
)

const guess = inputwait.Guess

// limited gives the job a prober that sees less.
func (j *job) limited(best int) *job {
	j.prober = inputwait.Limited(j.target, best)
	return j
}

func TestLowerTiers(t *testing.T) {
	type want struct {
		state inputwait.State
		sure  inputwait.Confidence
	}
	pipe, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = pipe.Close(), writer.Close() })
	path := fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), pipe.Fd())
	for _, test := range []struct {
		name   string
		prompt string
		kind   inputwait.Kind
		two    want // with where it sleeps, and its descriptors
		three  inputwait.Confidence
		args   []string
	}{
		{"cat", "", line, want{reading, likely}, guess, []string{"cat"}},
		{"bash", "$ ", raw, want{reading, likely}, guess, []string{"bash", "--norc", "-i"}},
		// It polls, and has a pipe open that another process may write to.
		{"bash with a pipe", "$ ", raw, want{listening, likely}, guess, []string{"dash", "-c", "exec bash --norc -i 3<" + path}},
		{"read", "name? ", line, want{reading, likely}, guess, []string{"dash", "-c", `printf 'name? '; read x`}},
		{"read -s", "secret? ", password, want{reading, likely}, likely, []string{"bash", "-c", `read -s -p 'secret? ' x`}},
		{"less", "END", raw, want{reading, likely}, guess, []string{"bash", "-c", "echo text | less"}},
		{"node", "> ", raw, want{reading, likely}, guess, []string{"node", "-i"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			need(t, test.args[0])
			onTerminal(t, test.args...).limited(2).waits(test.prompt, test.two.state, test.kind, test.two.sure)
			onTerminal(t, test.args...).limited(3).waits(test.prompt, reading, test.kind, test.three)
			onTerminal(t, test.args...).limited(4).waits(test.prompt, reading, test.kind, guess)
		})
	}
	t.Run("pipe", func(t *testing.T) {
		t.Parallel()
		onPipes(t, "cat").limited(2).waits("", reading, line, likely)
		onPipes(t, "cat").limited(3).waits("", reading, line, guess)
		onPipes(t, "cat").limited(4).waits("", reading, line, guess)
	})
}

// Quiet is only enough for a guess: a sleeping process is not reported as waiting if more can be seen.
func TestLowerTiersNever(t *testing.T) {
	for _, args := range [][]string{
		{"dash", "-c", "printf '> '; sleep 60; :"},
		{"python3", "-u", "-c", "import socket; a,b=socket.socketpair(); print('> '); a.recv(1)"},
		{"python3", "-u", "-c", "print('> ')\nwhile True: pass"},
	} {
		t.Run(args[0], func(t *testing.T) {
			t.Parallel()
			onTerminal(t, args...).limited(2).never("> ", 700*time.Millisecond)
		})
	}
	t.Run("sleeps, and keys are read", func(t *testing.T) {
		j := onTerminal(t, "dash", "-c", "stty raw -echo; printf '> '; sleep 60; :").limited(3)
		j.waits("> ", reading, raw, guess)
	})
	t.Run("runs", func(t *testing.T) {
		onTerminal(t, "python3", "-u", "-c", "print('> ')\nwhile True: pass").limited(3).never("> ", 700*time.Millisecond)
	})
}

func TestExamine(t *testing.T) {
	j := onTerminal(t, "cat")
	j.waits("", reading, line, exact)
	if reach, why := inputwait.Examine(j.cmd.Process.Pid); reach != exact || why == "" {
		t.Errorf("a process of our own: %s, %s", reach, why)
	}
	if reach, why := inputwait.Examine(1 << 30); reach != inputwait.None || why == "" {
		t.Errorf("nobody: %s, %s", reach, why)
	}
	if os.Getuid() == 0 {
		return
	}
	if reach, why := inputwait.Examine(1); reach != guess || why == "" {
		t.Errorf("root's: %s, %s", reach, why)
	} else {
		t.Log(why)
	}
}

// A program that runs as root shows other users only that it sleeps.
func TestSetuid(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("su asks root for nothing: run as another user")
	}
	j := onTerminal(t, "su", "root", "-c", "true")
	j.waits("assword: ", reading, password, likely)
	j.write("wrong\n")
	j.never("assword: ", 200*time.Millisecond)
}

// If it is unknown whether the input was consumed, a found wait becomes a guess; without a wait there is no verdict.
func TestUnknownInput(t *testing.T) {
	j := onTerminal(t, "cat")
	j.target.Terminal = blind{j.term}
	j.target.Input = j.target.Terminal
	j.limited(1).waits("", reading, line, guess)
	j = onTerminal(t, "dash", "-c", "printf '> '; sleep 60; :")
	j.target.Terminal = blind{j.term}
	j.target.Input = j.target.Terminal
	j.limited(1).never("> ", 700*time.Millisecond)
}

// blind is a terminal that does not report whether its input was consumed.
type blind struct{ inputwait.Terminal }

func (blind) Unread() (bool, error) { return false, os.ErrPermission }

func TestClosed(t *testing.T) {
	j := onTerminal(t, "cat")
	j.waits("", reading, line, exact)
	if err := j.term.Close(); err != nil {
		t.Fatal(err)
	}
	if v := j.prober.Look(time.Hour); v.Waiting {
		t.Errorf("with a closed terminal it waits: %+v", v)
	}
	if v := inputwait.New(j.target).Look(time.Hour); v.Waiting || v.Again != 0 {
		t.Errorf("with a closed terminal it waits: %+v", v)
	}
}
