package jobs

import (
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"shelld.dev/shelld/jobs/internal/keeper"
	"shelld.dev/shelld/jobs/internal/proc"
)

// A person receives the questions. The test answers them.
type person struct {
	mu        sync.Mutex
	asked     []*Question
	withdrawn []*Question
}

// startAsked returns a manager with simulated jobs, the person who receives its questions, and a function that returns
// the last job. They may be read only while the other goroutines of the bubble are idle.
func startAsked(t *testing.T, p ConfirmPolicy) (*Manager, *person, func() *fakeJob) {
	who := &person{}
	m := newManager(slog.New(slog.DiscardHandler))
	var all []*fakeProcess
	t.Cleanup(func() {
		m.Shutdown()
		if err := m.Close(); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if n := len(m.confirms.waiting); n > 0 {
			t.Errorf("%d questions are left", n)
		}
		for _, p := range all {
			close(p.kills)
		}
	})
	m.settings.confirm = p
	m.settings.confirm.Ask = func(q *Question) func() {
		who.mu.Lock()
		defer who.mu.Unlock()
		who.asked = append(who.asked, q)
		return func() {
			who.mu.Lock()
			defer who.mu.Unlock()
			who.withdrawn = append(who.withdrawn, q)
		}
	}
	var last *fakeJob
	m.system.plan = func(s *Spec) (plan, *Error) {
		return plan{argv: []string{"fake"}, shell: "/bin/sh", mode: ModePTY, dir: "/dir", cols: 80, rows: 24}, nil
	}
	m.launch = func(_ *Spec, p plan) (*launched, *Error) {
		f := &fakeJob{t: t, m: m, proc: newFakeProcess(), out: newFakeSource(), in: newFakeInput()}
		who.mu.Lock()
		last, all = f, append(all, f.proc)
		who.mu.Unlock()
		go func() { // Each kill ends it.
			for range f.proc.kills {
				f.proc.tell(keeper.Event{Kind: keeper.Exited, Code: 0})
				f.proc.tell(keeper.Event{Kind: keeper.Killed})
				f.proc.gone()
			}
		}()
		term := fakeTerminal{proc.Attrs{Canonical: true, Echo: true, Signals: true, CRToNL: true, EOF: 4, Intr: 3}}
		return &launched{plan: p, proc: f.proc, outputs: []output{{PTY, f.out}}, input: f.in, term: term}, nil
	}
	return m, who, func() *fakeJob { return last }
}

func command(line string) Spec { return Spec{Command: &line, Sink: &recorder{}} }

func begin(t *testing.T, m *Manager, s Spec) (*Job, Pending[StartResult]) {
	t.Helper()
	j, p, err := m.Start(s)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
	return j, p
}

func waits[T any](t *testing.T, p Pending[T]) {
	t.Helper()
	synctest.Wait()
	if len(p.C) > 0 {
		t.Fatalf("it is answered: %+v", <-p.C)
	}
}

var askStarts = ConfirmPolicy{Start: VerdictAsk}

func TestStartIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, who, job := startAsked(t, askStarts)
		_, p := begin(t, m, command("git log | sudo less; git x"))
		waits(t, p)
		q := who.asked[0]
		if q.Action != ActionStart || q.Command != "git log | sudo less; git x" || !slices.Equal(q.Roots, []string{"git", "sudo", "less"}) || q.Unknown || q.Handle != 0 || q.Cwd != "/dir" {
			t.Errorf("asked %+v", q)
		}
		time.Sleep(48 * time.Hour)
		waits(t, p)
		if job() != nil {
			t.Fatal("it runs before it is allowed")
		}
		q.Answer(AnswerOnce)
		q.Answer(AnswerDeny) // too late
		must(t, p)
		j, p := begin(t, m, command("git log | sudo less; git x"))
		behind := j.Info()
		waits(t, p) // The answer for once does not count again.
		who.asked[1].Answer(AnswerDeny)
		if e := refused(t, p, CodeConfirmationDenied); e.Name != "start" {
			t.Errorf("%+v", e)
		}
		if e := refused(t, behind, CodeJobNotFound); !strings.Contains(e.Message, "was not started (the person at the client did not allow") {
			t.Errorf("what names it is told %q", e.Message)
		}
		if n := len(m.All()); n != 1 {
			t.Errorf("%d jobs are known", n)
		}
	})
}

func TestQuestionShowsWhatIsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, who, _ := startAsked(t, askStarts)
		begin(t, m, Spec{Argv: []string{"env", "it's", "", "a=b"}})
		begin(t, m, Spec{})
		begin(t, m, command("$x"))
		if err := m.SetSecret("TOKEN", "hunter2hunter2"); err != nil {
			t.Fatal(err)
		}
		begin(t, m, command("echo hunter2hunter2"))
		if err := m.SetSecret("QUOTED", "it's a secret"); err != nil {
			t.Fatal(err)
		}
		begin(t, m, Spec{Argv: []string{"echo", "it's a secret"}})
		if err := m.SetSecret("PROGRAM", "/bin/rm"); err != nil {
			t.Fatal(err)
		}
		begin(t, m, Spec{Argv: []string{"/bin/rm", "x"}})
		for i, want := range []string{`env 'it'\''s' '' a=b`, "/bin/sh", "$x", "echo ***", "echo '***'", "'***' x"} {
			// If the question does not show the whole command, it is unknown, and cannot be allowed for always.
			if q := who.asked[i]; q.Command != want || q.Unknown != slices.Contains([]int{1, 2, 3, 5}, i) || q.Unknown && q.key != "" {
				t.Errorf("asked %+v, want %s", q, want)
			}
		}
		_, p := begin(t, m, command("echo "+strings.Repeat("x", mostAsked)))
		if e := refused(t, p, CodePolicyDenied); e.Rule != "confirm" || len(who.asked) != 6 {
			t.Errorf("%+v", e)
		}
	})
}

// An answer for always counts for the same roots, even for questions that are open at that time, and for nothing else.
func TestAlways(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, who, _ := startAsked(t, askStarts)
		_, one := begin(t, m, command("ls | wc"))
		_, other := begin(t, m, command("ls; ls x | wc -l"))
		_, less := begin(t, m, command("ls"))
		_, unknown := begin(t, m, command("ls | wc; $x"))
		who.asked[0].Answer(AnswerAlways)
		must(t, one)
		must(t, other)
		waits(t, less)
		waits(t, unknown)
		if !slices.Contains(who.withdrawn, who.asked[1]) {
			t.Error("the other question is not taken back")
		}
		_, p := begin(t, m, command("wc $(ls)"))
		must(t, p)
		who.asked[3].Answer(AnswerAlways)
		must(t, unknown)
		_, p = begin(t, m, command("ls | wc; $x"))
		waits(t, p)
		if len(who.asked) != 5 {
			t.Errorf("asked %d times", len(who.asked))
		}
	})
}

func TestAlwaysKey(t *testing.T) {
	key := func(a Action, cwd string, line string) string {
		s := command(line)
		s.from = &environment{}
		return alwaysKey(a, "", cwd, rootsOf(&s, plan{shell: "/bin/sh"}))
	}
	for _, c := range []struct {
		one, other string
		same       bool
	}{
		{key(ActionStart, "/a", "a; b"), key(ActionStart, "/b", "b | a | a"), true},
		{key(ActionStart, "/a", "a; b"), key(ActionStart, "/a", "a"), false},
		{key(ActionStart, "/a", "a"), key(ActionKill, "/a", "a"), false},
		{key(ActionStart, "/a", "./a"), key(ActionStart, "/b", "./a"), false},
		{key(ActionStart, "/a", "./a"), key(ActionStart, "/a", "./a x"), true},
		{key(ActionStart, "/a", "/bin/a"), key(ActionStart, "/b", "/bin/a"), true},
		{key(ActionStart, "/a", "$x"), "", true},
		{key(ActionStart, "/a", "cd /b; a"), "", false},
		{key(ActionStart, "/a", "cd /b; /bin/a"), "", false},
		{key(ActionStart, "/a", "cd /b; ./a"), "", true},
		{key(ActionStart, "/a", "env -C /b ./a"), "", true},
		{key(ActionStart, "/a", "x=1"), "", true},
		{key(ActionStart, "/a", ">f"), "", true},
		{key(ActionStart, "/a", "a >f"), "", true},
		{key(ActionStart, "/a", "{ a; } 2>>f"), "", true},
		{key(ActionStart, "/a", "sh -c 'a >f'"), "", true},
		{key(ActionStart, "/a", "a </dev/tcp/localhost/9"), "", true},
		{key(ActionStart, "/a", "a </f 2>&1 >/dev/null <<E\nE"), key(ActionStart, "/a", "a"), true},
		{key(ActionStart, "/a", "find /b -execdir ./a {} +"), "", true},
	} {
		if (c.one == c.other) != c.same {
			t.Errorf("%q and %q", c.one, c.other)
		}
	}
}

// An answer for always to a harmless line never counts for a line that a shell may read differently than the server.
func TestAlwaysNeverCoversUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, who, _ := startAsked(t, askStarts)
		bash := func(line string) Spec {
			s := command(line)
			s.Shell = "/bin/bash"
			return s
		}
		for i, line := range []string{"echo hi", "echo hi; sleep 0", "sleep 0; wait", "let 1", "local x; ls"} {
			_, p := begin(t, m, bash(line))
			who.asked[i].Answer(AnswerAlways)
			must(t, p)
		}
		asked := len(who.asked)
		for i, line := range []string{
			"echo `echo '`; canary; echo '`", "[[ x == @($(canary)) ]]", "echo >&'$(canary)'", "x=(1)#; canary", "coproc canary >x", "sleep 0 & wait -np 'a[$(canary)]'",
			"canary=1; let 1&&canary", "f() { local PATH; ls; }; f", "echo ${x:-<(canary)}",
		} {
			_, p := begin(t, m, bash(line))
			if len(who.asked) != asked+i+1 {
				t.Fatalf("nobody is asked about %s", line)
			}
			if q := who.asked[asked+i]; !q.Unknown || q.key != "" {
				t.Errorf("asked %+v", q)
			}
			who.asked[asked+i].Answer(AnswerDeny)
			refused(t, p, CodeConfirmationDenied)
		}
	})
}

// A cancel, a kill or a shutdown withdraws the question about a start.
func TestStartIsBrokenOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, who, job := startAsked(t, askStarts)
		_, p := begin(t, m, command("a"))
		p.Cancel()
		refused(t, p, CodeCanceled)
		j, p := begin(t, m, command("a"))
		kill := j.Kill(KillOptions{})
		refused(t, p, CodeCanceled)
		refused(t, kill, CodeJobNotFound)
		_, p = begin(t, m, command("a"))
		go m.Shutdown()
		refused(t, p, CodeShuttingDown)
		synctest.Wait()
		if len(who.withdrawn) != 3 || job() != nil || len(m.All()) != 0 {
			t.Errorf("%d taken back, %d jobs", len(who.withdrawn), len(m.All()))
		}
		who.asked[0].Answer(AnswerAlways) // It is too late and has no effect.
	})
}

// Requests that wait for the start can be cancelled, and keep their order.
func TestRequestsBehindAnAskedStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, who, job := startAsked(t, askStarts)
		j, p := begin(t, m, command("a"))
		info := j.Info()
		one, _ := j.Write(Input{Text: "a\n", Wait: &WaitSpec{Timeout: time.Second}})
		two, _ := j.Write(Input{Text: "b\n"})
		three, _ := j.Write(Input{Text: "c\n"})
		two.Cancel()
		refused(t, two, CodeCanceled)
		waits(t, info)
		time.Sleep(time.Minute)
		who.asked[0].Answer(AnswerOnce)
		must(t, p)
		must(t, info)
		synctest.Wait()
		job().in.room <- 4
		if r := must(t, one); r.BytesWritten != 2 {
			t.Errorf("%+v", r)
		}
		job().in.room <- 4
		must(t, three)
	})
}

// The file and the directory of a start are checked again after the answer, since they may have changed.
func TestStartIsLookedAtAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, who, job := startAsked(t, askStarts)
		_, p := begin(t, m, command("a"))
		m.system.plan = func(*Spec) (plan, *Error) { return plan{}, errorf(CodeDirectoryNotAllowed, "it is a link by now") }
		who.asked[0].Answer(AnswerOnce)
		refused(t, p, CodeDirectoryNotAllowed)
		if job() != nil {
			t.Error("it runs")
		}
	})
}

func TestConfirmWithoutAsker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, who, _ := startAsked(t, ConfirmPolicy{Start: VerdictDeny, Write: VerdictDeny, Kill: VerdictDeny})
		for _, v := range []Verdict{VerdictDeny, VerdictAsk} {
			m.settings.confirm.Start = v
			_, p := begin(t, m, command("a"))
			if e := refused(t, p, CodePolicyDenied); e.Name != "start" || e.Rule != "confirm" || e.Handle != 0 {
				t.Errorf("%s: %+v", v, e)
			}
			m.settings.confirm.Start = VerdictAllow
			j, p := begin(t, m, command("a"))
			must(t, p)
			w, _ := j.Write(Input{Text: "x"})
			if e := refused(t, w, CodePolicyDenied); e.Name != "write" || e.Handle != j.id {
				t.Errorf("%s: %+v", v, e)
			}
			if e := refused(t, j.Kill(KillOptions{}), CodePolicyDenied); e.Name != "kill" || e.Handle != j.id {
				t.Errorf("%s: %+v", v, e)
			}
			m.settings.confirm.Ask, m.settings.confirm.Write, m.settings.confirm.Kill = nil, VerdictAsk, VerdictAsk
		}
		if len(who.asked) != 0 {
			t.Errorf("asked %d times", len(who.asked))
		}
	})
}

// If a job ends by itself while the question about a kill is open, the kill is answered before the removal of the job
// that was requested after it.
func TestRemoveBehindAnAskedKill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range 20 {
			m, who, job := startAsked(t, ConfirmPolicy{Kill: VerdictAsk})
			j, p := begin(t, m, command("sleep 5"))
			must(t, p)
			kill := j.Kill(KillOptions{})
			waits(t, kill)
			job().proc.exit(0) // by itself
			job().proc.gone()
			closed, err := j.Wait(&WaitSpec{Until: []Condition{{Kind: UntilClosed}}, Timeout: -1})
			if err != nil {
				t.Fatal(err)
			}
			must(t, closed)
			removed := j.Remove(false)
			if r := must(t, kill); !r.AlreadyClosed {
				t.Errorf("the kill of a closed job: %+v", r)
			}
			must(t, removed)
			synctest.Wait()
			if len(who.withdrawn) != 1 {
				t.Errorf("%d questions were taken back", len(who.withdrawn))
			}
		}
	})
}

func TestKillIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, who, _ := startAsked(t, ConfirmPolicy{Kill: VerdictAsk})
		j, p := begin(t, m, command("sleep 5"))
		must(t, p)
		kill := j.Kill(KillOptions{})
		waits(t, kill)
		if q := who.asked[0]; q.Action != ActionKill || q.Handle != j.id || q.Command != "sleep 5" || !slices.Equal(q.Roots, []string{"sleep"}) || q.Cwd != "/dir" {
			t.Errorf("asked %+v", q)
		}
		must(t, j.Info()) // It does not wait for the answer.
		who.asked[0].Answer(AnswerDeny)
		refused(t, kill, CodeConfirmationDenied)
		sig, _ := j.Signal("TERM", SignalLeader, Asker{})
		waits(t, sig)
		sig.Cancel()
		refused(t, sig, CodeCanceled)
		sig, _ = j.Signal("TERM", SignalLeader, Asker{})
		waits(t, sig)
		who.asked[2].Answer(AnswerAlways)
		must(t, sig)
		if r := must(t, j.Kill(KillOptions{})); r.AlreadyClosed {
			t.Errorf("%+v", r)
		}
		if r := must(t, j.Kill(KillOptions{})); !r.AlreadyClosed {
			t.Errorf("%+v", r)
		}
		if len(who.asked) != 3 || len(who.withdrawn) != 3 {
			t.Errorf("asked %d times, taken back %d", len(who.asked), len(who.withdrawn))
		}
	})
}

// The question about a kill is withdrawn when the job ends by itself or by a shutdown.
func TestKillOfWhatEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, _, job := startAsked(t, ConfirmPolicy{Kill: VerdictAsk})
		j, p := begin(t, m, command("a"))
		must(t, p)
		kill := j.Kill(KillOptions{})
		waits(t, kill)
		job().proc.exit(0)
		job().proc.gone()
		if r := must(t, kill); !r.AlreadyClosed {
			t.Errorf("%+v", r)
		}
		j, p = begin(t, m, command("a"))
		must(t, p)
		run := j.Run(RunOptions{Timeout: time.Second})
		if r := must(t, run); !r.TimedOut {
			t.Errorf("%+v", r) // A timeout needs no confirmation.
		}
		j, p = begin(t, m, command("a"))
		must(t, p)
		kill = j.Kill(KillOptions{})
		waits(t, kill)
		m.Shutdown()
		refused(t, kill, CodeShuttingDown)
	})
}

func TestWriteIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, who, job := startAsked(t, ConfirmPolicy{Write: VerdictAsk})
		j, p := begin(t, m, command("a"))
		must(t, p)
		if w, _ := j.Write(Input{Keys: []string{"Nothing"}}); refused(t, w, CodeInvalidKey) == nil || len(who.asked) != 0 {
			t.Error("somebody is asked about what cannot be typed")
		}
		one, _ := j.Write(Input{Text: "one", Keys: []string{"Ctrl-C"}, AppendNewline: true, Wait: &WaitSpec{Timeout: time.Second}})
		two, _ := j.Write(Input{Text: "two"})
		three, _ := j.Write(Input{Send: []SendItem{{Text: "th"}, {Key: "Up", Count: 2}, {Bytes: []byte("r\xff")}}, EOF: true})
		secret, _ := j.Write(Input{Text: "hunter2", Secret: true})
		waits(t, one)
		for _, want := range []string{"one<Ctrl-C>\n", "two", "th<Up><Up>r\ufffd<end of input>", "***"} {
			i := slices.IndexFunc(who.asked, func(q *Question) bool { return q.Command == want })
			if i < 0 || !who.asked[i].Unknown || len(who.asked[i].Roots) > 0 || who.asked[i].Handle != j.id || who.asked[i].Action != ActionWrite {
				t.Fatalf("%q is not asked: %+v", want, who.asked)
			}
		}
		answer := func(command string, a Answer) {
			for _, q := range who.asked {
				if q.Command == command {
					q.Answer(a)
				}
			}
			synctest.Wait()
		}
		answer("two", AnswerAlways)
		time.Sleep(time.Hour)
		waits(t, two) // it is behind the first
		secret.Cancel()
		refused(t, secret, CodeCanceled)
		answer("one<Ctrl-C>\n", AnswerOnce)
		job().in.room <- 100
		if r := must(t, one); r.BytesWritten != 5 || r.Outcome.Reason != "timeout" {
			t.Errorf("%+v", r)
		}
		job().in.room <- 100
		must(t, two)
		answer("th<Up><Up>r\ufffd<end of input>", AnswerDeny)
		refused(t, three, CodeConfirmationDenied)
	})
}

// A write without input needs no confirmation. It keeps its place behind writes that do.
func TestEmptyWriteIsNotAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, who, job := startAsked(t, ConfirmPolicy{Write: VerdictAsk})
		j, p := begin(t, m, command("a"))
		must(t, p)
		empty, _ := j.Write(Input{Wait: &WaitSpec{Timeout: time.Second}})
		if r := must(t, empty); r.BytesWritten != 0 || r.Outcome.Reason != "timeout" {
			t.Errorf("%+v", r)
		}
		one, _ := j.Write(Input{Text: "one"})
		empty, _ = j.Write(Input{Wait: &WaitSpec{Timeout: time.Second}})
		dropped, _ := j.Write(Input{Wait: &WaitSpec{}})
		time.Sleep(time.Hour)
		waits(t, empty) // it is behind the first
		dropped.Cancel()
		refused(t, dropped, CodeCanceled)
		if len(who.asked) != 1 {
			t.Fatalf("asked %d times", len(who.asked))
		}
		who.asked[0].Answer(AnswerOnce)
		synctest.Wait()
		job().in.room <- 100
		must(t, one)
		must(t, empty)
		eof, _ := j.Write(Input{EOF: true})
		waits(t, eof)
		if len(who.asked) != 2 {
			t.Errorf("asked %d times", len(who.asked))
		}
		must(t, j.Kill(KillOptions{}))
		refused(t, eof, CodeJobExited)
	})
}

// A signal key alone overtakes a write that waits for confirmation and drops it. The job's end ends such writes too.
func TestAskedWriteIsPassed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, who, job := startAsked(t, ConfirmPolicy{Write: VerdictAsk})
		j, p := begin(t, m, command("a"))
		must(t, p)
		one, _ := j.Write(Input{Text: "one"})
		waits(t, one)
		key, _ := j.Write(Input{Keys: []string{"Ctrl-C"}})
		refused(t, one, CodeCanceled)
		synctest.Wait()
		job().in.room <- 1
		must(t, key)
		mixed, _ := j.Write(Input{Keys: []string{"Ctrl-C"}, Text: "rm x\n"})
		waits(t, mixed)
		two, _ := j.Write(Input{Text: "two"})
		waits(t, two)
		must(t, j.Kill(KillOptions{}))
		refused(t, mixed, CodeJobExited)
		refused(t, two, CodeJobExited)
		synctest.Wait()
		if len(who.asked) != 3 || len(who.withdrawn) != 3 {
			t.Errorf("asked %d times, taken back %d", len(who.asked), len(who.withdrawn))
		}
	})
}

// The writes that wait for confirmation are bounded by the length of their input, even if it is secret. Input that is
// too long to be typed is not converted to text for the question.
func TestAskedWritesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, who, _ := startAsked(t, ConfirmPolicy{Write: VerdictAsk})
		m.settings.limits.InputQueueBytes = 1000
		j, p := begin(t, m, command("a"))
		must(t, p)
		for range 2 {
			w, _ := j.Write(Input{Text: strings.Repeat("x", 400), Secret: true})
			waits(t, w)
		}
		w, _ := j.Write(Input{Text: strings.Repeat("x", 400), Secret: true})
		refused(t, w, CodeInputQueueFull)
		long := make([]SendItem, 1000)
		for i := range long {
			long[i] = SendItem{Key: "PageDown", Count: 1000}
		}
		var shown string
		actorOf(j).turn(func() { shown, _, _ = actorOf(j).asking.showWrite(Input{Send: long}) })
		if shown != "" {
			t.Errorf("%d bytes are shown of what cannot be typed", len(shown))
		}
		if len(who.asked) != 2 {
			t.Errorf("asked %d times", len(who.asked))
		}
	})
}
