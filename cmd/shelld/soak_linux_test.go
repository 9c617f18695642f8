package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"shelld.dev/shelld/client"
	"shelld.dev/shelld/schema"
)

var soakTime = flag.Duration("soak", 2*time.Second, "how long TestSoak goes on; before a release 30m, with -timeout 40m")

// A soak is a long-lived server with its client. The client checks the sequence of its events: none is missing, and no
// output is missing without a reported gap.
type soak struct {
	t      *testing.T
	cmd    *exec.Cmd
	client *client.Conn
	state  string

	reading sync.Mutex // held while the client does not read

	mu      sync.Mutex
	jobs    map[int64]*soaked
	changed chan struct{} // closed and replaced at every event
}

// A soaked is the state of one job, from its events.
type soaked struct {
	seq    int64
	next   map[string]int64 // stream -> offset
	gaps   int
	exited *schema.Exit
	closed bool
}

// A soakSample is the resources that a server holds without jobs.
type soakSample struct {
	anonymous, goroutines, descriptors, threads, children, files int
}

// TestSoak has a server do many different things at the same time, repeatedly, for a client that reads slowly and
// sometimes not at all, while other clients vanish from servers of their own. The resources that the server holds
// between two rounds must stay constant.
func TestSoak(t *testing.T) {
	needJobs(t)
	s := startSoak(t)
	var samples []soakSample
	for begun, round := time.Now(), 1; time.Since(begun) < *soakTime || round <= 4; round++ {
		t.Run(fmt.Sprint("round", round), func(t *testing.T) { s.round(t, round) })
		if t.Failed() {
			return
		}
		samples = append(samples, s.sample(t))
	}
	t.Logf("%d rounds, at first %+v and at last %+v", len(samples), samples[0], samples[len(samples)-1])
	flat(t, samples)
	s.call(t, "shutdown", schema.ShutdownParams{}, nil)
	if err := s.client.Notify("exit", schema.ExitParams{}); err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Wait(); err != nil {
		t.Errorf("the server: %v", err)
	}
}

// flat compares the last quarter of the samples with the first. Spare keepers and the runtime's threads come and go,
// and the garbage collector has memory in reserve.
func flat(t *testing.T, all []soakSample) {
	t.Helper()
	quarter := max(len(all)/4, 1)
	first, last := all[:quarter], all[len(all)-quarter:]
	values := func(part []soakSample, of func(soakSample) int) (all []int) {
		for _, s := range part {
			all = append(all, of(s))
		}
		return all
	}
	memory := func(s soakSample) int { return s.anonymous }
	for _, c := range []struct {
		what  string
		of    func(soakSample) int
		slack int
	}{
		// Each spare keeper is a child, and has a goroutine and two descriptors in the server.
		{"goroutines but for keepers'", func(s soakSample) int { return s.goroutines - s.children }, 2},
		{"descriptors but for keepers'", func(s soakSample) int { return s.descriptors - 2*s.children }, 2},
		{"children", func(s soakSample) int { return s.children }, 2},
		{"files", func(s soakSample) int { return s.files }, 0},
		{"threads", func(s soakSample) int { return s.threads }, 8},
		{"bytes of memory", memory, slices.Max(values(first, memory))/4 + 8<<20},
	} {
		// A leak is visible even in the lowest of the last samples.
		if before, after := slices.Max(values(first, c.of)), slices.Min(values(last, c.of)); after > before+c.slack {
			t.Errorf("%d %s at last, and %d at first", after, c.what, before)
		}
	}
}

func startSoak(t *testing.T) *soak {
	t.Helper()
	s := &soak{t: t, cmd: exec.Command("shelld", "serve"), state: t.TempDir(), jobs: map[int64]*soaked{}, changed: make(chan struct{})}
	s.cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+s.state)
	s.cmd.Stderr = os.Stderr
	in, out := startPiped(t, s.cmd)
	s.client = client.NewConn(slowly{s, out}, in, s.hear, nil)
	t.Cleanup(func() {
		_ = s.cmd.Process.Kill() // It has ended, unless the test has failed.
		<-s.client.Done()
		_ = s.cmd.Wait()
	})
	s.call(t, "initialize", schema.InitializeParams{Options: &schema.Options{Limits: &schema.LimitOptions{ShutdownGraceMs: ptr(int64(500))}}}, nil)
	return s
}

// slowly reads only while the client does.
type slowly struct {
	s *soak
	r io.Reader
}

func (r slowly) Read(p []byte) (int, error) {
	r.s.reading.Lock()
	defer r.s.reading.Unlock()
	return r.r.Read(p[:min(len(p), 32<<10)])
}

func (s *soak) call(t *testing.T, method string, params, result any) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*watchdog)
	defer cancel()
	if err := s.client.Call(ctx, method, params, result); err != nil {
		t.Fatalf("%s %+v: %v", method, params, err)
	}
}

// hear handles an event.
func (s *soak) hear(n client.Event) {
	var e struct {
		Handle, Seq, Offset, Bytes int64
		Stream                     string
		Gap                        *struct{ From, To int64 }
		Restart                    bool
		Exit                       *schema.Exit
	}
	if err := json.Unmarshal(n.Params, &e); err != nil {
		s.t.Errorf("%s %s: %v", n.Method, n.Params, err)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	j := s.jobs[e.Handle]
	if j == nil {
		j = &soaked{next: map[string]int64{}}
		s.jobs[e.Handle] = j
	}
	if j.seq++; e.Seq != j.seq || j.closed {
		s.t.Errorf("%s of job %d is number %d and not %d, after closed: %v", n.Method, e.Handle, e.Seq, j.seq, j.closed)
		j.seq = e.Seq
	}
	switch n.Method {
	case "job/output":
		from := e.Offset
		if e.Gap != nil {
			from = e.Gap.From
			j.gaps++
		}
		if from != j.next[e.Stream] && !e.Restart {
			s.t.Errorf("output of job %d goes on at %d and not at %d", e.Handle, from, j.next[e.Stream])
		}
		j.next[e.Stream] = e.Offset + e.Bytes
	case "job/exited":
		j.exited = e.Exit
	case "job/closed":
		j.closed = true
	}
	close(s.changed)
	s.changed = make(chan struct{})
}

// until waits until the state of a job fulfils a condition.
func (s *soak) until(t *testing.T, what string, handle int64, cond func(*soaked) bool) {
	t.Helper()
	late := time.After(2 * watchdog)
	for {
		s.mu.Lock()
		j, changed := s.jobs[handle], s.changed
		ok := j != nil && cond(j)
		s.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-changed:
		case <-s.client.Done():
			t.Fatalf("the server has ended before %s", what)
		case <-late:
			t.Fatalf("job %d: %s did not come", handle, what)
		}
	}
}

func (s *soak) start(t *testing.T, p schema.JobStartParams) schema.JobInfo {
	t.Helper()
	if p.Command != nil {
		p.Shell = ptr("sh")
	}
	var r schema.JobStartResult
	s.call(t, "job/start", p, &r)
	return r.Job
}

// done waits for a job's last event, and removes the job.
func (s *soak) done(t *testing.T, handle int64, exit string) {
	t.Helper()
	s.until(t, "closed", handle, func(j *soaked) bool { return j.closed })
	s.mu.Lock()
	j := s.jobs[handle]
	delete(s.jobs, handle)
	s.mu.Unlock()
	got := string(j.exited.Reason)
	if j.exited.Code != nil {
		got += fmt.Sprint(" ", *j.exited.Code)
	}
	if exit != "" && got != exit {
		t.Errorf("job %d: %s, want %s", handle, got, exit)
	}
	s.call(t, "job/remove", schema.JobRemoveParams{Handle: handleOf(handle)}, nil)
}

func (s *soak) kill(t *testing.T, handle int64) {
	t.Helper()
	var r schema.JobKillResult
	s.call(t, "job/kill", schema.JobKillParams{Handle: handleOf(handle), GraceMs: ptr(int64(300))}, &r)
	if len(r.Survivors) > 0 {
		t.Errorf("job %d: survivors %+v", handle, r.Survivors)
	}
}

// round does everything once, all at the same time.
func (s *soak) round(t *testing.T, round int) {
	scenes := map[string]func(*testing.T){
		"a short command": func(t *testing.T) {
			s.done(t, s.start(t, schema.JobStartParams{Command: ptr("echo hello; exit 3")}).Handle, "exited 3")
		},
		"all of a large output": func(t *testing.T) {
			h := s.start(t, schema.JobStartParams{
				Command: ptr("head -c 3000000 /dev/zero | tr '\\0' x"), Mode: new(schema.ModePipe), WhenSlow: new(schema.WhenSlowBlock)}).Handle
			s.until(t, "all output", h, func(j *soaked) bool { return j.next["stdout"] == 3_000_000 && j.gaps == 0 })
			s.done(t, h, "exited 0")
		},
		"a flood on a terminal": func(t *testing.T) {
			h := s.start(t, schema.JobStartParams{Argv: []string{"yes"}}).Handle
			s.until(t, "output", h, func(j *soaked) bool { return j.next["pty"] > 200_000 })
			s.kill(t, h)
			s.done(t, h, "killed")
		},
		"a flood without a reader": func(t *testing.T) {
			j := s.start(t, schema.JobStartParams{Argv: []string{"yes"}, Mode: new(schema.ModePipe), WhenSlow: new(schema.WhenSlowSkip)})
			func() {
				s.reading.Lock()
				defer s.reading.Unlock()
				awaitWritten(t, int(j.PID), 16<<20)
			}()
			s.kill(t, j.Handle)
			s.done(t, j.Handle, "killed")
		},
		"questions and answers": func(t *testing.T) {
			h := s.start(t, schema.JobStartParams{Command: ptr("stty -echo; while read x; do echo got $x.; done")}).Handle
			for i := range 20 {
				var r schema.JobWriteResult
				s.call(t, "job/write", schema.JobWriteParams{
					Handle: handleOf(h), Input: ptr(fmt.Sprint(i)), AppendNewline: ptr(true), Wait: demoUntil(fmt.Sprintf(`got %d\.`, i)),
				}, &r)
				if r.Outcome.Reason != schema.OutcomeReasonPattern {
					t.Fatalf("answer %d: %s", i, r.Outcome.Reason)
				}
			}
			s.call(t, "job/write", schema.JobWriteParams{Handle: handleOf(h), Eof: ptr(true)}, nil)
			s.done(t, h, "exited 0")
		},
		"what is hard to end": func(t *testing.T) {
			for i := range hardToEnd {
				h := s.start(t, schema.JobStartParams{Command: &hardToEnd[i]}).Handle
				s.kill(t, h)
				s.done(t, h, "")
			}
		},
		"patterns, and another beginning": func(t *testing.T) {
			h := s.start(t, schema.JobStartParams{
				Command: ptr("seq 20000; read x"), Mode: new(schema.ModePipe), Stdin: json.RawMessage(`"open"`),
				Watch: []schema.Watch{{Pattern: `\d+99\n`}, {Pattern: "^20000$", Flags: ptr("m")}},
			}).Handle
			s.call(t, "job/wait", schema.JobWaitParams{Handle: handleOf(h), Until: demoUntil("20000\n").Until, From: json.RawMessage(`"start"`)}, nil)
			s.call(t, "job/subscribe", schema.JobSubscribeParams{Handle: handleOf(h), From: json.RawMessage(`"start"`)}, nil)
			s.call(t, "job/unwatch", schema.JobUnwatchParams{Handle: handleOf(h), WatchID: 1}, nil)
			s.call(t, "job/signal", schema.JobSignalParams{Handle: handleOf(h), Signal: "STOP"}, nil)
			s.call(t, "job/signal", schema.JobSignalParams{Handle: handleOf(h), Signal: "CONT"}, nil)
			s.call(t, "job/write", schema.JobWriteParams{Handle: handleOf(h), AppendNewline: ptr(true)}, nil)
			s.done(t, h, "exited 0")
		},
		"runs, and refusals": func(t *testing.T) {
			var r schema.JobRunResult
			s.call(t, "job/run", schema.JobRunParams{Command: ptr("sleep 60"), TimeoutMs: schema.ValueOf(int64(20))}, &r)
			if !r.TimedOut {
				t.Errorf("a run that takes too long: %+v", r)
			}
			ctx, cancel := context.WithTimeout(context.Background(), watchdog)
			defer cancel()
			if err := s.client.Call(ctx, "job/start", schema.JobStartParams{Argv: []string{"no-such-command"}}, nil); err == nil || !strings.Contains(err.Error(), "commandNotFound") {
				t.Errorf("a command that is not there: %v", err)
			}
			for range 50 {
				s.call(t, "job/list", schema.JobListParams{}, nil)
			}
		},
		"clients that vanish": func(t *testing.T) {
			for i, e := range serverEnds {
				if (i+round)%len(serverEnds) > 1 {
					continue
				}
				d := startDoomed(t, 3)
				began := time.Now()
				e.end(t, d)
				_ = d.wait() // TestEveryEndOfTheServer checks the status.
				d.awaitGone(t, began, watchdog)
			}
		},
	}
	for name, scene := range scenes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			scene(t)
		})
	}
}

// sample measures a server after its last jobs were removed. It repeats this until two measurements agree: keepers come
// and go, and a matcher's clock runs for a second, and no event reports either.
func (s *soak) sample(t *testing.T) soakSample {
	t.Helper()
	var all schema.JobListResult
	s.call(t, "job/list", schema.JobListParams{}, &all)
	for _, j := range all.Jobs { // These are the jobs of job/run.
		s.call(t, "job/remove", schema.JobRemoveParams{Handle: handleOf(j.Handle)}, nil)
	}
	s.mu.Lock()
	clear(s.jobs)
	s.mu.Unlock()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for before, begun := s.look(t), time.Now(); ; {
		<-tick.C
		now := s.look(t)
		same := before
		same.anonymous, same.threads = now.anonymous, now.threads // The runtime determines these.
		if now == same || time.Since(begun) > watchdog {
			return now // If the values do not settle, the comparison fails later.
		}
		before = now
	}
}

func (s *soak) look(t *testing.T) soakSample {
	t.Helper()
	var stats schema.ServerStatsResult
	s.call(t, "server/stats", schema.ServerStatsParams{}, &stats)
	if stats.Jobs.Known != 0 || stats.Spool.MemoryBytes != 0 || stats.Spool.DiskBytes != 0 || len(stats.PerJob) > 0 {
		t.Errorf("without jobs there are %+v, %+v, %+v", stats.Jobs, stats.Spool, stats.PerJob)
	}
	count := func(pattern string) int {
		found, err := filepath.Glob(fmt.Sprintf(pattern, s.cmd.Process.Pid))
		if err != nil {
			t.Fatal(err)
		}
		return len(found)
	}
	files := 0
	err := filepath.WalkDir(s.state, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			files++
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return soakSample{
		anonymous: anonymous(t, s.cmd.Process.Pid), goroutines: int(stats.Process.Goroutines),
		descriptors: count("/proc/%d/fd/*"), threads: count("/proc/%d/task/*"), children: len(childrenOf(t, s.cmd.Process.Pid)), files: files,
	}
}
