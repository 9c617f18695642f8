package jobs

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

// Requests sent before the removal of a job are answered, in their order. Later ones get the error that there is no
// job.
func TestRemoveComesInItsTurn(t *testing.T) {
	m, _ := startFiles(t, Limits{})
	for range 50 {
		s := sh("seq 10000")
		s.Mode = ModePipe
		s.Watches = []WatchSpec{{Pattern: "never"}}
		j := mustStart(t, m, s)
		awaitClosed(t, j)
		zero := int64(0)
		read := j.Read(ReadOptions{Stream: Stdout, Offset: &zero, MaxBytes: 100})
		wait, err := j.Wait(&WaitSpec{Until: []Condition{pattern("9999")}, From: Origin{Kind: FromStart}, Timeout: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		unwatch := j.Unwatch(1)
		first, second := j.Remove(false), j.Remove(true)
		late := j.Read(ReadOptions{Stream: Stdout, Offset: &zero, MaxBytes: 100})
		if r := must(t, read); !strings.HasPrefix(string(r.Data), "1\n2\n") {
			t.Fatalf("read %q", r.Data)
		}
		if o := must(t, wait); o.Reason != "pattern" {
			t.Fatalf("the wait ended with %s", o.Reason)
		}
		must(t, unwatch)
		must(t, first)
		refused(t, second, CodeJobNotFound)
		refused(t, late, CodeJobNotFound)
	}
}

// A wait for unread output begins at the end of the read before it.
func TestWaitBehindARead(t *testing.T) {
	t.Parallel()
	m, _ := startFiles(t, Limits{})
	for range 50 {
		j := mustStart(t, m, sh("echo READY; read x"))
		start := int64(0)
		must(t, j.Read(ReadOptions{Offset: &start, MaxBytes: 100, Wait: time.Minute})) // does not move the cursor
		read := j.Read(ReadOptions{MaxBytes: 100})
		wait, err := j.Wait(&WaitSpec{Until: []Condition{pattern("READY")}, Timeout: 20 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		if r := must(t, read); !strings.Contains(string(r.Data), "READY") {
			t.Fatalf("read %q", r.Data)
		}
		if o := must(t, wait); o.Reason != "timeout" {
			t.Fatalf("the wait ended with %s", o.Reason)
		}
		must(t, j.Kill(KillOptions{}))
	}
}

// pipelined returns requests of every kind for a job, each with the error code that it must get for a closed job, or 0
// for a result.
func pipelined(j *Job) map[string]struct {
	ask  func() <-chan error
	code Code
} {
	start := int64(0)
	value := "x"
	return map[string]struct {
		ask  func() <-chan error
		code Code
	}{
		"screen":           {func() <-chan error { return only(j.Screen(1000, nil)) }, 0},
		"read":             {func() <-chan error { return only(j.Read(ReadOptions{Offset: &start, MaxBytes: 100})) }, 0},
		"read on":          {func() <-chan error { return only(j.Read(ReadOptions{MaxBytes: 100})) }, 0},
		"read what is not": {func() <-chan error { return only(j.Read(ReadOptions{MaxBytes: 100, Wait: time.Minute})) }, 0},
		"wait": {func() <-chan error {
			return onlyIf(j.Wait(&WaitSpec{Until: []Condition{pattern("1000")}, From: Origin{Kind: FromStart}, Timeout: time.Minute}))
		}, 0},
		"wait for the screen": {func() <-chan error {
			c := Condition{Kind: UntilPattern, Watch: WatchSpec{Pattern: "1000", Screen: true}}
			return onlyIf(j.Wait(&WaitSpec{Until: []Condition{c}, From: Origin{Kind: FromStart}, Timeout: time.Minute, Screen: true}))
		}, 0},
		"run":                {func() <-chan error { return only(j.Run(RunOptions{Timeout: -1})) }, 0},
		"write":              {func() <-chan error { return onlyIf(j.Write(Input{Text: "x"})) }, CodeJobExited},
		"kill":               {func() <-chan error { return only(j.Kill(KillOptions{})) }, 0},
		"signal":             {func() <-chan error { return onlyIf(j.Signal("INT", SignalForeground, Asker{})) }, CodeJobExited},
		"resize":             {func() <-chan error { return only(j.Resize(90, 30, "")) }, CodeJobExited},
		"watch":              {func() <-chan error { return onlyIf(j.Watch(WatchSpec{Pattern: "1000"}, true)) }, 0},
		"unwatch":            {func() <-chan error { return only(j.Unwatch(1)) }, 0},
		"unwatch the screen": {func() <-chan error { return only(j.Unwatch(2)) }, 0},
		"info":               {func() <-chan error { return only(j.Info()) }, 0},
		"variables":          {func() <-chan error { return only(j.Variables()) }, 0},
		"set a variable":     {func() <-chan error { return onlyIf(j.ChangeVariable("X", &value, false, Asker{}, "")) }, CodeUnsupported},
		"exec":               {func() <-chan error { return onlyIf(j.Exec(ExecOptions{Command: "true"})) }, CodeJobExited},
		"history":            {func() <-chan error { return only(j.History()) }, CodeShellIntegrationUnavailable},
		"subscribe": {func() <-chan error {
			return only(j.Subscribe(Origin{}, func(Info, map[Stream]int64) (bool, error) { return false, nil }))
		}, 0},
		"search": {func() <-chan error {
			target := j.SearchTarget("")
			c := make(chan error, 1)
			go func() {
				r := <-target.C
				if r.Err == nil {
					spec := &SearchSpec{Literal: "1000", MaxMatches: 1, MaxBytes: 1000, Timeout: time.Minute}
					if err := spec.Compile(); err != nil {
						r.Err = err
					} else if res, err := actorOf(j).manager.Search(spec, []SearchTarget{r.Value}, nil); err != nil {
						r.Err = err
					} else if len(res.Matches) != 1 {
						r.Err = errorf(CodeInternal, "%d matches", len(res.Matches))
					}
				}
				c <- r.Err
			}()
			return c
		}, 0},
	}
}

// only returns a channel with the error of an answer.
func only[T any](p Pending[T]) <-chan error {
	c := make(chan error, 1)
	go func() { c <- (<-p.C).Err }()
	return c
}

// onlyIf is like only, for requests that may be refused at once.
func onlyIf[T any](p Pending[T], err *Error) <-chan error {
	if err == nil {
		return only(p)
	}
	c := make(chan error, 1)
	c <- err
	return c
}

// Every kind of request that was sent before the removal of its job is answered as if the job stayed.
func TestRemoveForgetsNoRequest(t *testing.T) {
	m, _ := startFiles(t, Limits{})
	names := slices.Sorted(maps.Keys(pipelined(nil)))
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			for range 10 {
				s := sh("seq 1000")
				s.Watches = []WatchSpec{{Pattern: "never"}, {Pattern: "never", Screen: true}}
				j := mustStart(t, m, s)
				awaitClosed(t, j)
				asked := pipelined(j)[name]
				answer, removed := asked.ask(), j.Remove(false)
				err := <-answer
				if e, _ := err.(*Error); err != nil && (e == nil || e.Code != asked.code) || err == nil && asked.code != 0 {
					t.Fatalf("answered with the error %v; want code %d (0: none)", err, asked.code)
				}
				must(t, removed)
			}
		})
	}
}
