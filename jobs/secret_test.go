package jobs

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"shelld.dev/shelld/jobs/internal/inputwait"
	"shelld.dev/shelld/jobs/internal/proc"
)

var asks = inputwait.Verdict{Waiting: true, State: inputwait.Reading, Kind: inputwait.Password, Confidence: inputwait.Exact, PID: 7, Why: "it reads"}

// A changingTerminal has modes that the test sets, and counts the calls of Attrs.
type changingTerminal struct {
	fakeTerminal
	mu    *sync.Mutex
	attrs *proc.Attrs
	asked *int
	front *proc.Foreground
}

func (t changingTerminal) Attrs() (proc.Attrs, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	*t.asked++
	return *t.attrs, nil
}

func (t changingTerminal) Foreground(int) (proc.Foreground, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return *t.front, nil
}

func (t changingTerminal) echo(is bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.attrs.Echo = is
}

func (t changingTerminal) asks() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return *t.asked
}

// A typedInto keeps the written input, and the memory that it was written from.
type typedInto struct {
	*fakeInput
	mu   sync.Mutex
	text string
	kept [][]byte
}

func (i *typedInto) Write(p []byte) (int, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.text += string(p)
	i.kept = append(i.kept, p)
	return len(p), nil
}

func (i *typedInto) typed() string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.text
}

// startAsking starts a job with a policy for passwords, and with a simulated terminal, looker and input.
func startAsking(t *testing.T, p SecretPolicy) (*fakeJob, *fakeLooker, changingTerminal, *typedInto) {
	t.Helper()
	l := &fakeLooker{sees: works, began: time.Now()}
	f := startFakeWith(t, &recorder{}, func(m *Manager) { m.settings.secrets = p })
	term := newTerminal()
	in := &typedInto{fakeInput: f.in}
	f.turn(func() { f.looker, f.term = l, term })
	swapInput(f, in)
	return f, l, term, in
}

func newTerminal() changingTerminal {
	return changingTerminal{mu: &sync.Mutex{}, attrs: &proc.Attrs{Canonical: true, Echo: true, Signals: true, CRToNL: true, EOF: 4, Intr: 3}, asked: new(int), front: &proc.Foreground{PID: 7, Command: "sudo ls"}}
}

// swapInput makes the job write to in.
func swapInput(f *fakeJob, in *typedInto) {
	go func() { // Write would wait for this.
		for {
			select {
			case f.in.room <- 1 << 20:
			case <-f.in.closed:
				return
			}
		}
	}()
	f.turn(func() { f.stdin = nowInto{in} })
}

// A nowInto takes all input at once, so that the writeLoop is not used: that has the input with which the job was
// started.
type nowInto struct{ *typedInto }

func (i nowInto) WriteNow(p []byte) (int, error) { return i.Write(p) }

// secrets returns the reports about passwords to a sink.
func (r *recorder) secrets() (told []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.events {
		switch a := e.Secret; {
		case a != nil && a.Over:
			told = append(told, a.WaitID+" over")
		case a != nil:
			told = append(told, fmt.Sprintf("%s %q %s #%d after %d", a.WaitID, a.Prompt, a.Command, a.Attempt, e.After[PTY]))
		case e.Exited != nil:
			told = append(told, "exited")
		}
	}
	return told
}

func (f *fakeJob) secretsAre(want ...string) {
	f.t.Helper()
	synctest.Wait()
	if got := f.sink.secrets(); !slices.Equal(got, want) {
		f.t.Errorf("told\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// While echo is on there are no input probes; after output the terminal's modes are read a few times, and then no more.
// If echo is off, the client is asked once, after the prompt, whether the prompt or the change of echo came first.
func TestSecretIsAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, l, term, _ := startAsking(t, SecretPolicy{Ask: true})
		l.set(asks)
		f.says("$ ")
		time.Sleep(time.Hour)
		if n := l.taken(); n != nil {
			t.Errorf("looked %d times while echo was on", len(n))
		}
		if n := term.asks(); n > len(hiddenAfter)+2 {
			t.Errorf("the terminal was asked %d times in an hour", n)
		}
		f.says("Password: ")
		time.Sleep(ms(50))
		term.echo(false)
		time.Sleep(time.Minute)
		f.secretsAre(`1.1 "$ Password:" sudo ls #1 after 12`)
		n := len(l.taken())
		term.echo(true)
		l.set(works) // the wait times out, and the program goes on silently
		time.Sleep(time.Minute)
		f.secretsAre(`1.1 "$ Password:" sudo ls #1 after 12`, "1.1 over")
		if more := len(l.taken()) - n; more > 30 {
			t.Errorf("looked %d times more when nobody was asked", more)
		}
		f.end()
	})
}

// Without the capability, not even the terminal's modes are read.
func TestSecretIsNotAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, l, term, _ := startAsking(t, SecretPolicy{})
		l.set(asks)
		term.echo(false)
		f.says("Password: ")
		time.Sleep(time.Minute)
		f.secretsAre()
		if l.taken() != nil || term.asks() != 0 {
			t.Errorf("looked %v, asked the terminal %d times", l.taken(), term.asks())
		}
		f.end()
	})
}

// The client's answer is typed with a line end, and wiped. A second answer, and one for a wait that is over, are
// dropped. The attempts are counted while the same command asks.
func TestSecretIsTyped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, l, term, in := startAsking(t, SecretPolicy{Ask: true, ClientOnly: true})
		prompt := func(text string, pid int, command string) {
			term.mu.Lock()
			*term.front = proc.Foreground{PID: pid, Command: command}
			term.mu.Unlock()
			term.echo(false)
			v := asks
			v.PID = pid
			f.says(text)
			synctest.Wait()
			l.set(v) // after the output, since a probe may be due at this moment
			time.Sleep(time.Second)
		}
		prompt("Password: ", 7, "sudo ls")
		value, again := []byte("hunter2"), []byte("hunter3")
		f.AnswerSecret("1.1", value)
		f.AnswerSecret("1.1", again)
		synctest.Wait()
		if in.typed() != "hunter2\r" {
			t.Errorf("typed %q", in.typed())
		}
		for _, b := range append(in.kept, value, again) {
			if strings.Trim(string(b), "\x00") != "" {
				t.Errorf("%q is still there", b)
			}
		}
		prompt("\r\nSorry.\r\nPassword: ", 7, "sudo ls")
		f.AnswerSecret("1.1", []byte("late"))
		time.Sleep(time.Second)
		f.AnswerSecret("1.2", nil)
		synctest.Wait()
		l.set(works)
		time.Sleep(time.Second)
		prompt("\r\nPassword: ", 8, "sudo ls") // the command was started again
		f.AnswerSecret("1.3", []byte("a"))
		synctest.Wait()
		l.set(works)
		time.Sleep(time.Second)
		prompt("\r\nPassphrase: ", 9, "ssh host")
		l.set(works)
		time.Sleep(3 * time.Second)
		f.AnswerSecret("1.4", []byte("too late"))
		time.Sleep(time.Second)
		prompt("\r\nPassword: ", 7, "sudo ls")
		f.proc.exit(0)
		f.secretsAre(
			`1.1 "Password:" sudo ls #1 after 10`, "1.1 over", `1.2 "Password:" sudo ls #2 after 30`, "1.2 over", `1.3 "Password:" sudo ls #3 after 42`, "1.3 over",
			`1.4 "Passphrase:" ssh host #1 after 56`, "1.4 over", `1.5 "Password:" sudo ls #1 after 68`, "1.5 over", "exited")
		if in.typed() != "hunter2\r\ra\r" {
			t.Errorf("typed %q", in.typed())
		}
		f.proc.gone()
		f.finish()
	})
}

// The question ends if other input is typed, or if the program reads something else.
func TestSecretIsTakenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, l, term, _ := startAsking(t, SecretPolicy{Ask: true})
		l.set(asks)
		term.echo(false)
		f.says("Password: ")
		time.Sleep(time.Second)
		f.secretsAre(`1.1 "Password:" sudo ls #1 after 10`)
		l.set(works)
		must(t, f.Write1("hunter2\r"))
		f.secretsAre(`1.1 "Password:" sudo ls #1 after 10`, "1.1 over")
		l.set(reads)
		time.Sleep(time.Second)
		guess := asks
		guess.Confidence = inputwait.Guess
		l.set(guess)
		f.says("Token: ")
		time.Sleep(time.Second)
		f.secretsAre(`1.1 "Password:" sudo ls #1 after 10`, "1.1 over")
		f.end()
	})
}

// With clientOnly, no input is typed into a password prompt, except for a signal key. While echo is on, all input is
// typed.
func TestSecretInputOfTheClientOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, _, term, in := startAsking(t, SecretPolicy{ClientOnly: true})
		write := func(i Input) Pending[WriteResult] {
			p, err := f.Write(i)
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
		must(t, write(Input{Text: "sudo ls\r"}))
		term.echo(false)
		for _, i := range []Input{{Text: "hunter2\r"}, {Text: "hunter2", Secret: true}, {Keys: []string{"Enter"}}, {EOF: true}, {Keys: []string{"Ctrl-C", "Enter"}}} {
			e := refused(t, write(i), CodePolicyDenied)
			if e.Name != "write" || e.Rule != "secretInput" || e.Handle != f.id || !strings.Contains(e.Message, "Ctrl-C") {
				t.Errorf("%+v", e)
			}
		}
		must(t, write(Input{}))
		if in.typed() != "sudo ls\r" {
			t.Errorf("typed %q", in.typed())
		}
		must(t, write(Input{Keys: []string{"Ctrl-C"}}))
		term.echo(true)
		must(t, write(Input{Text: "ls\r"}))
		f.end()
	})
}

// Input that was queued before echo was switched off is refused too, when its turn comes.
func TestSecretInputThatWasQueued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFakeWith(t, &recorder{}, func(m *Manager) { m.settings.secrets = SecretPolicy{Ask: true, ClientOnly: true} })
		term := newTerminal()
		f.turn(func() { f.term = term })
		first, second, interrupt := f.Write1("sudo ls\r"), f.Write1("hunter2\r"), f.Write1("")
		synctest.Wait()
		term.echo(false)
		f.in.room <- 8
		must(t, first)
		if e := refused(t, second, CodePolicyDenied); deref(t, e.BytesWritten) != 0 || strings.Contains(e.Message, "hunter2") {
			t.Errorf("%+v", e)
		}
		must(t, interrupt)
		f.end()
	})
}

// Input that is being typed when echo is switched off is cancelled. The error has the number of bytes typed.
func TestSecretInputThatWasBegun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFakeWith(t, &recorder{}, func(m *Manager) { m.settings.secrets = SecretPolicy{ClientOnly: true} })
		term := newTerminal()
		f.turn(func() { f.term, f.looker = term, &fakeLooker{sees: works, began: time.Now()} })
		first := f.Write1(strings.Repeat("x\r", 5000))
		f.in.room <- 100
		time.Sleep(time.Second)
		term.echo(false)
		f.shows("Password: ")
		if e := refused(t, first, CodePolicyDenied); deref(t, e.BytesWritten) != 100 || !strings.Contains(e.Message, "bytesWritten") {
			t.Errorf("%+v", e)
		}
		if n := term.asks(); n > 3*len(hiddenAfter) {
			t.Errorf("the terminal was asked %d times", n)
		}
		f.end()
	})
}

// If a password is too long to be typed, it is dropped, and the client is asked again. The client is also asked if the
// program prints no prompt.
func TestSecretThatCannotBeTyped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, l, term, in := startAsking(t, SecretPolicy{Ask: true})
		term.echo(false)
		l.set(asks)
		time.Sleep(time.Second)
		f.secretsAre(`1.1 "" sudo ls #1 after 0`)
		f.AnswerSecret("1.1", []byte(strings.Repeat("x", 5000)))
		time.Sleep(time.Second)
		f.secretsAre(`1.1 "" sudo ls #1 after 0`, `1.1 "" sudo ls #2 after 0`)
		f.AnswerSecret("1.1", []byte("short"))
		synctest.Wait()
		if in.typed() != "short\r" {
			t.Errorf("typed %d bytes", len(in.typed()))
		}
		f.end()
	})
}
