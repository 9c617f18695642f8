package jobs

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"shelld.dev/shelld/jobs/internal/keeper"
	"shelld.dev/shelld/jobs/internal/proc"
)

const hunter = "hunter2hunter2" // 14 bytes

// withSecret gives a manager a secret before anything is started.
func withSecret(m *Manager) {
	if err := m.SetSecret("HUNTER", hunter); err != nil {
		panic(err)
	}
}

func (f *fakeJob) stored() string {
	synctest.Wait()
	b := make([]byte, 4096)
	n, _ := f.ReadRaw(PTY, b, 0)
	return string(b[:n])
}

func (f *fakeJob) storedIs(want string) {
	f.t.Helper()
	if got := f.stored(); got != want {
		f.t.Errorf("stored %q, want %q", got, want)
	}
}

// A secret is replaced before it is stored, in whatever pieces it comes. Offsets count the stored bytes.
func TestSecretsAreNotStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFakeWith(t, &recorder{}, withSecret)
		f.says("a " + hunter + " b")
		f.storedIs("a *** b")
		f.says(" " + hunter[:9])
		f.storedIs("a *** b ")
		f.says(hunter[9:] + "\x1b]2;" + hunter + "\a")
		f.storedIs("a *** b ***\x1b]2;***\a")
		info := must(t, f.Info())
		if info.Title != "***" || info.Streams[0].NextOffset != int64(len("a *** b ***\x1b]2;***\a")) {
			t.Errorf("title %q, streams %+v", info.Title, info.Streams)
		}
		f.end()
	})
}

// A possible beginning of a secret is held back: if it is less than half of the secret, for 50 ms after its last byte,
// and otherwise until it is decided or the job ends.
func TestPausesLetGoOfLessThanHalf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := &recorder{}
		f := startFakeWith(t, sink, withSecret)
		f.says("a " + hunter[:2])
		time.Sleep(ms(40))
		f.storedIs("a ")
		f.says(hunter[2:4])
		time.Sleep(ms(49))
		f.storedIs("a ")
		time.Sleep(ms(1))
		f.storedIs("a hunt")
		f.says(hunter[4:9])
		time.Sleep(time.Hour)
		f.storedIs("a hunt")
		f.says("!")
		f.storedIs("a hunter2hu!")
		f.says(hunter[:5])
		time.Sleep(ms(50))
		f.says(hunter[5:] + " ")
		f.storedIs("a hunter2hu!hunte*** ")
		f.says(hunter[:13])
		f.proc.exit(0)
		f.storedIs("a hunter2hu!hunte*** " + hunter[:13])
		f.says(hunter[:8])
		f.storedIs("a hunter2hu!hunte*** " + hunter[:13])
		f.proc.gone()
		f.storedIs("a hunter2hu!hunte*** " + hunter[:13] + hunter[:8])
		if e := sink.events[0]; e.Exited == nil || e.After[PTY] != int64(len("a hunter2hu!hunte*** "+hunter[:13])) {
			t.Errorf("exited %+v", e)
		}
		if e := sink.events[1]; e.Closed == nil || e.After[PTY] != f.End(PTY) {
			t.Errorf("closed %+v", e)
		}
		f.finish()
	})
}

// A possible beginning of a secret is held back even if the source is idle, until the job ends.
func TestIdleSourcesLetGoAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j, p, src, m := startIdle(t, &recorder{}, nil)
		withSecret(m)
		src.data <- []byte(hunter[:9])
		synctest.Wait()
		if end := j.End(PTY); end != 0 {
			t.Errorf("%d bytes are stored of what may be a secret", end)
		}
		p.exit(0)
		p.gone()
		synctest.Wait()
		if end, status := j.End(PTY), must(t, j.Info()).Status; end != 9 || status != StatusClosed {
			t.Errorf("%d bytes are stored, %s", end, status)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
}

// Held back output counts as output in transit: the job is not reported as waiting or quiet before it is stored.
func TestHeldBackIsOutput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, l := startLooked(t)
		withSecret(f.m)
		f.TellWaiting(true)
		began := time.Now()
		quiet, err := f.Wait(&WaitSpec{Timeout: -1, Until: []Condition{{Kind: UntilQuiet, Quiet: ms(20)}}})
		if err != nil {
			t.Fatal(err)
		}
		f.shows("Your ")
		f.shows(hunter[:4])
		l.set(reads)
		time.Sleep(ms(49))
		f.waits()
		time.Sleep(ms(10))
		f.waits("1.1 reading line exact")
		if w := must(t, f.Info()).Waiting; w == nil || w.Prompt != "Your hunt" {
			t.Errorf("waits with %+v", w)
		}
		must(t, quiet)
		if took := time.Since(began); took != ms(70) {
			t.Errorf("quiet after %v, want 70ms", took)
		}
		f.end()
	})
}

// A secret that is set while a job runs counts from then on. If it is replaced or removed, the old value stays a secret
// for the jobs that had it.
func TestSecretsOfRunningJobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFake(t, &recorder{})
		f.shows(hunter + " ")
		withSecret(f.m)
		f.shows(hunter + " ")
		if err := f.m.SetSecret("HUNTER", "another one"); err != nil {
			t.Fatal(err)
		}
		f.shows(hunter + " another one ")
		if !f.m.RemoveSecret("HUNTER") || f.m.RemoveSecret("HUNTER") {
			t.Error("removed never, or twice")
		}
		f.says(hunter + " another one")
		f.storedIs(hunter + " *** *** *** *** ***")
		_, p, err := f.m.Start(Spec{Sink: &recorder{}})
		if err != nil {
			t.Fatal(err)
		}
		later := must(t, p)
		j, _ := f.m.Lookup(Ref{Handle: later.Info.Handle})
		if j.redaction.set.Load() != nil {
			t.Error("a job that starts later takes out what is no secret any more")
		}
		f.end()
	})
}

// The vault refuses values that are too short or too long, and too many secrets.
func TestVault(t *testing.T) {
	m := newManager(slog.New(slog.DiscardHandler))
	for value, code := range map[string]Code{"": CodeInvalidParams, "tiny!": CodeInvalidParams, " tiny!\n": CodeInvalidParams, strings.Repeat("x", MaxSecretBytes+1): CodeLimitExceeded} {
		err := m.SetSecret("A", value)
		if err == nil || err.Code != code {
			t.Errorf("%.10q: %v, want code %d", value, err, code)
		}
		if err != nil && value != "" && strings.Contains(err.Message, strings.TrimSpace(value)) {
			t.Errorf("the refusal tells the value: %s", err.Message)
		}
	}
	for i := range MaxSecrets {
		if err := m.SetSecret(fmt.Sprint(i), "secret "+fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.SetSecret("one more", hunter); err == nil || err.Limit != "secrets" || err.Max != MaxSecrets {
		t.Errorf("one too many: %v", err)
	}
	if err := m.SetSecret("7", hunter); err != nil {
		t.Errorf("in place of another: %v", err)
	}
	if n := m.SecretNames(); len(n) != MaxSecrets || n[0] != "0" {
		t.Errorf("%d names", len(n))
	}
}

// No report about a job contains a secret.
func TestSecretsAreNotTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := &recorder{}
		f := startFakeWith(t, sink, withSecret)
		command := "mysql -p" + hunter
		f.turn(func() {
			f.info.Command, f.info.Argv, f.info.Description = &command, []string{"sh", "-c", command}, hunter
			f.info.Cwd = "/" + hunter
		})
		f.Job.post(foregroundMsg{number: 1, review: true, foreground: f.changes.j.redaction.foreground(proc.Foreground{PID: 5, Command: "mysql -p" + hunter[:8]})})
		synctest.Wait()
		kill := f.Kill(KillOptions{})
		<-f.proc.kills
		f.proc.tell(keeper.Event{Kind: keeper.Exited, Background: []keeper.Proc{{PID: 6, Command: command}}})
		f.proc.tell(keeper.Event{Kind: keeper.Killed, Report: keeper.Report{
			Killed:    []keeper.KilledProc{{Proc: keeper.Proc{PID: 6, Command: command}, How: "KILL"}},
			Survivors: []keeper.Survivor{{Proc: keeper.Proc{PID: 7, Command: command}, Why: "it may not be signalled"}},
		}})
		r := must(t, kill)
		synctest.Wait()
		check := func(what string, told any) {
			if s := fmt.Sprintf("%+v", told); strings.Contains(s, hunter[:8]) || !strings.Contains(s, "***") {
				t.Errorf("%s tells %s", what, s)
			}
		}
		check("a kill", r.Killed)
		check("a kill", r.Survivors)
		info := must(t, f.Info())
		check("info", info)
		check("command", deref(t, info.Command))
		check("argv", info.Argv)
		check("what was published", deref(t, f.Published()))
		for _, e := range sink.events {
			switch {
			case e.Exited != nil:
				check("exited", e.Exited.Background)
			case e.Changed != nil:
				check("changed", deref(t, e.Changed.Foreground))
			}
		}
		check("a hint", f.redaction.hint(&Hint{Command: hunter, Suggestions: []string{hunter}, Path: hunter}))
		if got := sink.names(); !slices.Equal(got, []string{"exited"}) {
			t.Errorf("events %v", got)
		}
		f.proc.gone()
		f.finish()
	})
}

// Neither errors nor the log contain a secret.
func TestSecretsInWords(t *testing.T) {
	var log bytes.Buffer
	m := newManager(slog.New(slog.NewTextHandler(&log, nil)))
	m.log = m.CleanLog(m.log)
	if m.Cleaner(0) != nil {
		t.Error("without secrets words are cleaned")
	}
	quoted := "a \"quoted\"\nsecret"
	if err := m.SetSecret("A", quoted); err != nil {
		t.Fatal(err)
	}
	withSecret(m)
	for _, value := range []string{hunter, quoted} {
		if c := m.Cleaner(0)(fmt.Sprintf("there is no command %q", value)); c != `there is no command "***"` {
			t.Error(c)
		}
	}
	m.log.Warn("there is no " + fmt.Sprintf("%q", quoted))
	m.log.With("with", quoted).WithGroup("g").Warn("message "+hunter,
		"text", quoted, "error", errors.New("failed: "+quoted), "group", slog.GroupValue(slog.String("in", hunter)), "n", 7, "bytes", []string{hunter})
	if got := log.String(); strings.Contains(got, "hunter") || strings.Contains(got, "quoted") || strings.Count(got, "***") != 7 || !strings.Contains(got, "n=7") {
		t.Errorf("logged %s", got)
	}
}

// A password that the client has answered is a secret of that job until the job is closed.
func TestAnswersAreSecret(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, l, term, in := startAsking(t, SecretPolicy{Ask: true})
		term.echo(false)
		l.set(asks)
		f.says("Password: ")
		time.Sleep(time.Second)
		f.AnswerSecret("1.1", []byte(hunter))
		synctest.Wait()
		if in.typed() != hunter+"\r" {
			t.Fatalf("typed %q", in.typed())
		}
		f.says("\r\nit is " + hunter + "\r\n")
		f.storedIs("Password: \r\nit is ***\r\n")
		f.proc.exit(0)
		f.proc.gone()
		synctest.Wait()
		if f.redaction.set.Load() != nil || f.redaction.own != nil {
			t.Error("it is remembered when the job is closed")
		}
		if f.output.streams[0].cleaner.redactor != nil {
			t.Error("it is remembered by what has read the output")
		}
		f.finish()
	})
}

// The echo of a secret is not matched, although it differs from the typed input.
func TestEchoOfASecret(t *testing.T) {
	f := startFakeWith(t, &recorder{}, withSecret)
	defer f.end()
	p := f.typing("say "+hunter+"\r", untilPattern(`\*\*\*|say`))
	f.out.data <- []byte("say " + hunter + "\n")
	f.out.data <- []byte("it says " + hunter + "\n")
	matched(t, must(t, p).Outcome, "say", 11)
}
