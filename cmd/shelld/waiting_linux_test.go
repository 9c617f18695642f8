package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"shelld.dev/shelld/client"
	"shelld.dev/shelld/screen"
)

// These tests compare the server's reports about waiting for input with programs that really wait, and others that do
// not. The truth never comes from the server's own sources:
//
//   - for a real program, a pattern describes the end of its output, or its screen, when it waits; an earlier
//     report is early;
//   - a program made for the test (waiting_helper_linux_test.go) writes down the times just before and after
//     it reads.
//
// A few seconds of the tests always run. The tables of docs/measured/waiting.md are made by
//
//	go test -run 'TestWaiting' -timeout 2h ./cmd/shelld -waiting.rounds 10 -waiting.table $PWD/docs/measured/waiting.md
var (
	waitingTable  = flag.String("waiting.table", "", "the `file` whose table TestWaiting writes, between its markers; all programs, and those that are not installed are named")
	waitingMark   = flag.String("waiting.section", "root", "the markers between which it is written, and the `name` of the run")
	waitingRounds = flag.Int("waiting.rounds", 1, "how often each program of TestWaiting is run")
	waitingOnly   = flag.String("waiting.only", "", "a `pattern`: the programs of TestWaiting that are run")
	waitingTruth  = flag.Bool("waiting.truth", false, "TestWaiting answers by what its patterns say, and asks nothing of the server: it tests the patterns")
	waitingBinary = flag.String("waiting.server", "shelld", "the `binary` of the server of TestWaiting")
	waitingUser   = flag.Uint("waiting.uid", 0, "the user, and the group, as whom the server of TestWaiting and its jobs run, if not the present one")
	waitingLoose  = flag.Bool("waiting.loose", false, "count and report mistakes, but do not fail TestWaiting: for servers that may not trace")
	waitingFor    = flag.Duration("waiting.busy", 300*time.Millisecond, "how long TestWaiting probes each busy program; in a table 2s at the least")
)

const (
	waitingPatience = 10 * time.Second       // after which a wait is missed
	waitingUpgrade  = 3 * time.Second        // time for a listening or a guess to become a reading
	waitingProbe    = 50 * time.Millisecond  // interval of questions about a busy program
	waitingSettled  = 250 * time.Millisecond // silence after which a match of the pattern counts as true
)

// monotonic returns the clock that programs use too.
func monotonic() time.Duration {
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) // It cannot fail: the clock exists.
	return time.Duration(now.Nano())
}

// A told is the server's report about a job's waiting.
type told struct {
	Waiting    *bool           `json:"waiting"`
	WaitID     json.RawMessage `json:"waitId"`
	State      string          `json:"state"`
	Kind       string          `json:"kind"`
	Prompt     string          `json:"prompt"`
	Confidence string          `json:"confidence"`
	Why        string          `json:"why"`
}

func (w *told) yes() bool { return w != nil && (w.Waiting == nil || *w.Waiting) }

// column returns the column in which the report is counted.
func (w *told) column() string {
	if w.State == "listening" {
		return "listening"
	}
	return w.Confidence
}

func (w *told) String() string {
	return fmt.Sprintf("%s %s %s, prompt %q, because: %s", w.State, w.Kind, w.Confidence, w.Prompt, w.Why)
}

// A heard is a notification about a job.
type heard struct {
	at     time.Duration
	method string
	output []byte
	told   *told
}

// A waitingServer is a server that runs as the user in the flags.
type waitingServer struct {
	t      testing.TB
	client *client.Conn
	dir    string // owned by the server's user
	bin    string // directory of the helper
	uid    uint32

	mu   *sync.Mutex // shared by the copies of within
	jobs map[int64]chan heard
}

// within returns the server for a subtest, to which it reports failures.
func (s *waitingServer) within(t *testing.T) *waitingServer {
	c := *s
	c.t = t
	return &c
}

// startWaitingServer puts the binaries into a directory in which every user may run them.
func startWaitingServer(t *testing.T) *waitingServer {
	t.Helper()
	needJobs(t)
	s := &waitingServer{t: t, mu: new(sync.Mutex), jobs: map[int64]chan heard{}, uid: uint32(os.Geteuid())}
	dir, err := os.MkdirTemp("", "shelld-waiting-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) }) // Remaining files do no harm.
	s.bin, s.dir = filepath.Join(dir, "bin"), filepath.Join(dir, "home")
	for from, to := range map[string]string{*waitingBinary: "shelld", "shelld-waits": "shelld-waits"} {
		copyProgram(t, from, filepath.Join(s.bin, to))
	}
	cmd := exec.Command(filepath.Join(s.bin, "shelld"), "serve")
	if *waitingUser != 0 {
		s.uid = uint32(*waitingUser)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: s.uid, Gid: s.uid}}
	}
	s.makeDir(s.dir)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "HOME="+s.dir, "XDG_STATE_HOME="+filepath.Join(s.dir, "state"))
	var log bytes.Buffer
	cmd.Stderr = &log
	in, out := startPiped(t, cmd)
	s.client = client.NewConn(out, in, s.notice, nil)
	t.Cleanup(func() {
		_ = in.Close() // This ends the server and its jobs.
		<-s.client.Done()
		_ = cmd.Wait() // The status shows only that no client has shut it down.
		if t.Failed() && log.Len() > 0 {
			t.Logf("the server logged:\n%s", log.Bytes())
		}
	})
	var r struct{ Capabilities struct{ Events []string } }
	s.call("initialize", object{"rootDirectory": s.dir, "options": object{
		"events": []string{}, "encoding": "base64", "limits": object{"shutdownGraceMs": 0}, "persist": object{"mode": "memory"},
	}}, &r)
	if !*waitingTruth && !slices.Contains(r.Capabilities.Events, "waitingForInput") {
		t.Skip("this server does not report when a job waits for input")
	}
	return s
}

func copyProgram(t *testing.T, name, to string) {
	t.Helper()
	from, err := exec.LookPath(name)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(from)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(to), 0o755)
	}
	if err == nil {
		err = writeProgram(to, data)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// makeDir makes a directory that belongs to the server's user.
func (s *waitingServer) makeDir(dir string) {
	err := os.MkdirAll(dir, 0o755)
	if err == nil {
		err = os.Chown(dir, int(s.uid), -1)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *waitingServer) call(method string, params, result any) {
	s.t.Helper()
	if err := s.try(method, params, result); err != nil {
		s.t.Fatalf("%s %v: %v", method, params, err)
	}
}

func (s *waitingServer) try(method string, params, result any) error {
	ctx, cancel := context.WithTimeout(context.Background(), watchdog)
	defer cancel()
	return s.client.Call(ctx, method, params, result)
}

func (s *waitingServer) notice(n client.Event) {
	at := monotonic()
	h := heard{at: at, method: n.Method}
	var p struct {
		Handle int64
		Text   string
		Base64 string
	}
	if json.Unmarshal(n.Params, &p) != nil || p.Handle == 0 {
		return
	}
	switch n.Method {
	case "job/output":
		h.output = []byte(p.Text)
		if p.Base64 != "" {
			h.output, _ = base64.StdEncoding.DecodeString(p.Base64) // Other tests check the encoding.
		}
	case "job/waitingForInput":
		h.told = new(told)
		if err := json.Unmarshal(n.Params, h.told); err != nil {
			s.t.Errorf("%s: %v", n.Params, err)
		}
	}
	select {
	case s.of(p.Handle) <- h:
	default: // This drops notifications of a job that is no longer followed.
	}
}

// of returns the notifications of a job, which may arrive before its handle is known.
func (s *waitingServer) of(handle int64) chan heard {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.jobs[handle] == nil {
		s.jobs[handle] = make(chan heard, 1<<14)
	}
	return s.jobs[handle]
}

// A program is a program to run, with its requirements.
type program struct {
	name, group string
	argv        []string
	sh          string // instead of argv: a line for sh -c
	pipe        bool   // on a pipe that stays open, not a terminal
	env         map[string]string
	files       map[string]string // created in the directory in which it runs
	setup       string            // a line for sh -c, run before
	needs       []string          // programs that must be installed, besides argv[0]
	as          string            // "root" or "user": run only as that user
	short       bool              // run without -waiting.table, too
}

// missing returns the reason why the program cannot be run here, or "".
func (p program) missing(uid uint32) string {
	names := p.needs
	if len(p.argv) > 0 {
		names = append([]string{p.argv[0]}, names...)
	}
	for _, name := range names {
		if name == "shelld-waits" {
			continue
		}
		if _, err := exec.LookPath(name); err != nil {
			return name + " is not installed"
		}
	}
	switch {
	case p.as == "root" && uid != 0:
		return "for root alone"
	case p.as == "user" && uid == 0:
		return "not for root"
	}
	return ""
}

// skip skips the program. In CI, which has all programs of the short form, it fails instead.
func (p program) skip(t *testing.T, why string) {
	t.Helper()
	if p.short && p.as == "" && os.Getenv("SHELLD_CI") != "" {
		t.Fatal(why)
	}
	t.Skip(why)
}

// selected reports whether the flags select the program.
func (p program) selected(t *testing.T) bool {
	if *waitingOnly != "" {
		return regexp.MustCompile(*waitingOnly).MatchString(p.group + "/" + p.name)
	}
	if *waitingTable != "" || *waitingTruth {
		return true
	}
	return p.short && (!testing.Short() || slices.Contains([]string{"made for it", "shells", "passwords"}, p.group))
}

// A waitingJob is one run of a program, as seen by the client.
type waitingJob struct {
	s      *waitingServer
	handle int64
	events chan heard
	dir    string

	raw    []byte           // output since the last answer
	screen *screen.Terminal // all output
	last   time.Duration    // time of the last output
	told   *told            // the present report, if the job is waiting
	toldAt time.Duration
	exited bool
}

func (s *waitingServer) start(p program) *waitingJob {
	s.t.Helper()
	events := []string{"output", "exited"}
	if !*waitingTruth {
		events = append(events, "waitingForInput")
	}
	j, _ := s.startWith(p, object{"events": events})
	return j
}

// startWith starts the program with further params.
func (s *waitingServer) startWith(p program, params object) (*waitingJob, outcome) {
	s.t.Helper()
	dir, err := os.MkdirTemp(s.dir, "job-")
	if err != nil {
		s.t.Fatal(err)
	}
	s.makeDir(dir)
	for name, text := range p.files {
		path := filepath.Join(dir, name)
		s.makeDir(filepath.Dir(path))
		err := writeProgram(path, []byte(text))
		if err == nil {
			err = os.Chown(path, int(s.uid), -1)
		}
		if err != nil {
			s.t.Fatal(err)
		}
	}
	env := map[string]string{
		"PATH": s.bin + ":" + os.Getenv("PATH") + ":/usr/sbin:/sbin", "HOME": dir, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8", "ENV": "", "HISTFILE": "",
		"LESS": "", "PAGER": "cat", "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", "NODE_REPL_HISTORY": "", "DEBUGINFOD_URLS": "", "NO_UPDATE_NOTIFIER": "1",
		"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b", "PYTHON_HISTORY": "/dev/null", "INPUTRC": "/dev/null",
	}
	maps.Copy(env, p.env)
	if p.setup != "" {
		r := struct{ Exit struct{ Code *int } }{}
		var raw json.RawMessage
		s.call("job/run", object{"argv": []string{"sh", "-c", p.setup}, "cwd": dir, "env": env, "mode": "pipe", "events": []string{}}, &raw)
		if err := json.Unmarshal(raw, &r); err != nil {
			s.t.Fatal(err)
		}
	}
	argv := p.argv
	if p.sh != "" {
		argv = []string{"sh", "-c", p.sh}
	}
	maps.Copy(params, object{"argv": argv, "cwd": dir, "env": env})
	if p.pipe {
		params["mode"], params["stdin"] = "pipe", "open"
	} else {
		params["mode"] = "pty"
	}
	var r struct {
		Job     struct{ Handle int64 }
		Outcome outcome
	}
	at := monotonic()
	if err := s.try("job/start", params, &r); err != nil {
		if *waitingUser != 0 {
			s.t.Skipf("it cannot be started by this user: %v", err)
		}
		s.t.Fatalf("job/start %v: %v", params, err)
	}
	return &waitingJob{s: s, handle: r.Job.Handle, events: s.of(r.Job.Handle), dir: dir, screen: screen.NewTerminal(80, 24, 0), last: at}, r.Outcome
}

// An outcome is the result of a wait.
type outcome struct {
	Reason string
	Output map[string]struct{ Text string }
}

// end kills the remaining processes, and removes the job.
func (j *waitingJob) end() {
	_ = j.s.try("job/kill", object{"handle": j.handle, "graceMs": 0}, nil)
	_ = j.s.try("job/remove", object{"handle": j.handle}, nil) // The server ends the processes that remain.
	_ = os.RemoveAll(j.dir)
}

// take handles a notification.
func (j *waitingJob) take(h heard) {
	switch h.method {
	case "job/output":
		j.raw = append(j.raw, h.output...)
		j.screen.Write(h.output)
		j.screen.Replies()
		j.last = h.at
	case "job/exited":
		j.exited = true
	case "job/waitingForInput":
		j.told, j.toldAt = nil, h.at
		if h.told.yes() {
			j.told = h.told
		}
	}
}

// next handles the next notification, if one arrives in time.
func (j *waitingJob) next(wait time.Duration) (h heard, ok bool) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case h := <-j.events:
		j.take(h)
		return h, true
	case <-timer.C:
		return h, false
	}
}

var sequence = regexp.MustCompile(`\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|P[^\x1b]*\x1b\\|[()][0-9A-B]|[ -/]*[0-~])|[\x0e\x0f\x00]`)

// plain returns the output since the last answer without escape sequences.
func (j *waitingJob) plain() []byte { return plainOf(j.raw) }

func plainOf(raw []byte) []byte { return sequence.ReplaceAll(raw, nil) }

// shown returns the screen of the terminal, without the empty lines at its end.
func (j *waitingJob) shown() string {
	var b strings.Builder
	for _, line := range j.screen.Snapshot(0).Lines {
		b.WriteString(strings.TrimRight(line.Text(), " ") + "\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

// A step is one wait of a program, and the input typed then.
type step struct {
	ends   string // pattern for the end of the plain output since the last answer
	screen string // or pattern for the screen
	reads  int    // or: for the helper, which has noted that it reads for this time
	kind   string // expected kind, if any: line, password, raw, fullscreen
	prompt string // pattern for the reported prompt

	listening bool // The correct report is listening: the program does other work too.

	input string
	keys  []string
	eof   bool
	also  string // names of signals to send after the input
}

// A dialogue is a program that waits.
type dialogue struct {
	program
	steps []step
}

// A row is the result for one program.
type row struct {
	name, group string
	waits       int // number of true waits
	missed      int
	early       int // reported as a reading, exact or likely
	guessed     int // the same, as a guess
	falseExact  int
	wrong       int // wrong kind or prompt
	by          map[string]int
	delays      []time.Duration
	exact       bool // its delays are measured with its own clock
	broken      int  // rounds without the expected output: mistakes of the dialogue
	probes      int
	notes       []string
}

func (r *row) note(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(r.notes, text) && len(r.notes) < 12 {
		r.notes = append(r.notes, text)
	}
}

func (d dialogue) run(s *waitingServer, r *row) {
	j := s.start(d.program)
	defer j.end()
	for n, st := range d.steps {
		if !j.wait(st, n, r) {
			return
		}
		if n < len(d.steps)-1 {
			j.answer(st)
		}
	}
}

// holds reports whether a step's wait is true now, and since when by the helper's own clock.
func (j *waitingJob) holds(st step) (yes bool, since time.Duration) {
	switch {
	case st.reads > 0:
		log, err := os.ReadFile(filepath.Join(j.dir, "reads"))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			j.s.t.Fatal(err)
		}
		fields := strings.Fields(string(log))
		if i := 4*st.reads - 4; len(fields) > i+1 && len(fields) < i+4 {
			ns, err := strconv.ParseInt(fields[i+1], 10, 64)
			if err != nil || fields[i] != "before" {
				j.s.t.Fatalf("the helper's log: %q", log)
			}
			return true, time.Duration(ns)
		}
		return false, 0
	case st.screen != "":
		return compiled(st.screen).MatchString(j.shown()), j.last
	}
	return compiled(`(?:` + st.ends + `)\z`).Match(j.plain()), j.last
}

var compiledPatterns sync.Map

func compiled(pattern string) *regexp.Regexp {
	if re, ok := compiledPatterns.Load(pattern); ok {
		return re.(*regexp.Regexp)
	}
	re := regexp.MustCompile(pattern)
	compiledPatterns.Store(pattern, re)
	return re
}

// wait awaits one step's wait, and counts the reports about it.
func (j *waitingJob) wait(st step, n int, r *row) bool {
	var (
		early    string // the wait that was reported too early
		truthAt  time.Duration
		deadline = monotonic() + watchdog
	)
	for {
		yes, since := j.holds(st)
		now := monotonic()
		switch {
		case yes && truthAt == 0:
			truthAt, deadline = now, now+waitingPatience
		case !yes && truthAt != 0:
			truthAt, deadline = 0, now+watchdog
		}
		switch {
		case *waitingTruth && yes && now > j.last+waitingSettled && now > truthAt+waitingSettled:
			r.waits++
			return true
		case j.told == nil:
		case !yes && j.told.State == "listening": // This is correct, whatever else the program does.
		case !yes && early != string(j.told.WaitID)+j.told.Confidence:
			early = string(j.told.WaitID) + j.told.Confidence
			switch j.told.Confidence {
			case "guess":
				r.guessed++
			case "exact":
				r.falseExact++
				r.early++
			default:
				r.early++
			}
			r.note("early in step %d: %v; %q\n%s", n, j.told, tail(j.plain()), indent(j.shown()))
		case yes && j.told.Confidence != "guess" && (j.told.State != "listening" || st.listening):
			r.waits++
			r.by[j.told.column()]++
			if early != string(j.told.WaitID)+j.told.Confidence {
				r.delays = append(r.delays, max(j.toldAt-since, 0))
			}
			j.check(st, n, r)
			return true
		case yes && (now > truthAt+waitingUpgrade || *waitingLoose && now > truthAt+waitingUpgrade/6):
			r.note("no better in step %d: %v", n, j.told)
			r.waits++
			r.by[j.told.column()]++
			return true
		}
		if now > deadline {
			if !yes {
				r.broken++
				r.note("BROKEN: step %d never came: %q\n%s", n, tail(j.plain()), indent(j.shown()))
				return false
			}
			r.waits++
			r.missed++
			r.note("MISSED in step %d: %q", n, tail(j.plain()))
			return false
		}
		if j.exited && !yes {
			r.broken++
			r.note("BROKEN: it has exited before step %d: %q", n, tail(j.plain()))
			return false
		}
		j.next(20 * time.Millisecond)
	}
}

func (j *waitingJob) check(st step, n int, r *row) {
	if st.kind != "" && !slices.Contains(strings.Split(st.kind, "|"), j.told.Kind) {
		r.wrong++
		r.note("step %d is no %s: %v", n, st.kind, j.told)
	}
	if st.prompt != "" && !compiled(st.prompt).MatchString(j.told.Prompt) {
		r.wrong++
		r.note("step %d has no prompt %s: %v", n, st.prompt, j.told)
	}
}

func tail(b []byte) []byte { return b[max(0, len(b)-160):] }

// answer types the input of a step.
func (j *waitingJob) answer(st step) {
	j.raw, j.told = nil, nil
	params := st.params(j.handle)
	if len(params) > 1 {
		j.s.call("job/write", params, nil)
	}
	for _, name := range strings.Fields(st.also) {
		j.s.call("job/signal", object{"handle": j.handle, "signal": name}, nil)
		if name == "STOP" && !*waitingTruth {
			j.awaitNoWait()
		}
	}
}

// awaitNoWait returns when the server has reported that the job does not wait. A program that is stopped for less time
// than a probe takes is still in the same wait, which is not reported again.
func (j *waitingJob) awaitNoWait() {
	for deadline := monotonic() + waitingPatience; ; {
		left := deadline - monotonic()
		if left <= 0 {
			return // The next step will miss its wait.
		}
		if h, _ := j.next(left); h.told != nil && !h.told.yes() {
			return
		}
	}
}

// params returns the params of job/write for the step.
func (st step) params(handle int64) object {
	params := object{"handle": handle}
	if st.input != "" {
		params["input"] = st.input
	}
	if st.keys != nil {
		params["keys"] = st.keys
	}
	if st.eof {
		params["eof"] = true
	}
	return params
}

// A busy program does not wait.
type busy struct {
	program
	listening bool   // The correct report is listening.
	until     string // pattern for plain output after which it may wait
}

func (b busy) run(s *waitingServer, r *row) {
	j := s.start(b.program)
	defer j.end()
	span := *waitingFor
	if *waitingTable != "" {
		span = max(span, 2*time.Second)
	}
	end, ask := monotonic()+span, monotonic()
	count := func(w *told, how string) {
		column := w.column()
		r.by[column]++
		if column == "exact" {
			r.falseExact++
		}
		if column != "listening" || !b.listening {
			r.note("%s: %v; %q", how, w, tail(j.plain()))
		}
	}
	for !j.exited {
		now := monotonic()
		if now >= end || b.until != "" && compiled(b.until).Match(j.plain()) {
			return
		}
		if now >= ask {
			ask = now + waitingProbe
			r.probes++
			var got struct {
				Job struct{ WaitingForInput *told }
			}
			if err := s.try("job/get", object{"handle": j.handle}, &got); err != nil {
				s.t.Fatal(err)
			}
			for len(j.events) > 0 { // These arrived before the answer.
				j.next(0)
			}
			if over := b.until != "" && compiled(b.until).Match(j.plain()); !over && got.Job.WaitingForInput.yes() {
				count(got.Job.WaitingForInput, "asked")
			}
		}
		before := j.told
		if h, ok := j.next(min(end, ask) - now); ok && h.told != nil && j.told != nil && j.told != before {
			count(j.told, "told")
		}
		if len(j.raw) > 1<<16 {
			j.raw = slices.Clone(tail(j.raw))
		}
	}
	if b.until == "" {
		r.broken++
		r.note("BROKEN: it has exited: %q", tail(j.plain()))
	}
}

// TestWaiting runs programs that wait and programs that do not.
func TestWaiting(t *testing.T) {
	t.Parallel()
	s := startWaitingServer(t)
	var (
		mu          sync.Mutex // guards the results
		waits, idle []*row
		skipped     []string
	)
	t.Cleanup(func() { // This runs after all programs.
		text := renderWaiting(waits, idle, skipped)
		if testing.Verbose() {
			_, _ = io.WriteString(os.Stdout, text) // It is a part of the test's log, if that is wanted.
		}
		if *waitingTable != "" && !*waitingTruth {
			if err := writeWaiting(*waitingTable, cmp.Or(*waitingMark, "root"), text); err != nil {
				t.Error(err)
			}
		}
	})
	// The delays in a table are measured with one program at a time.
	beside := *waitingTable == "" && !*waitingTruth
	leave := func(t *testing.T, p program, why string) {
		mu.Lock()
		skipped = append(skipped, p.name+" ("+why+")")
		mu.Unlock()
		p.skip(t, why)
	}
	add := func(rows *[]*row, r *row) {
		mu.Lock()
		defer mu.Unlock()
		*rows = append(*rows, r)
	}
	for _, d := range dialogues() {
		if !d.selected(t) {
			continue
		}
		t.Run(d.group+"/"+d.name, func(t *testing.T) {
			if beside {
				t.Parallel()
			}
			s := s.within(t)
			if why := d.missing(s.uid); why != "" {
				leave(t, d.program, why)
			}
			r := &row{name: d.name, group: d.group, by: map[string]int{}, exact: d.steps[0].reads > 0}
			for range *waitingRounds {
				d.run(s, r)
			}
			add(&waits, r)
			r.report(t)
		})
	}
	for _, b := range busyPrograms() {
		if !b.selected(t) || *waitingTruth {
			continue
		}
		t.Run("busy/"+b.name, func(t *testing.T) {
			if beside {
				t.Parallel()
			}
			s := s.within(t)
			if why := b.missing(s.uid); why != "" {
				leave(t, b.program, why)
			}
			r := &row{name: b.name, group: b.group, by: map[string]int{}}
			b.run(s, r)
			add(&idle, r)
			r.report(t)
		})
	}
}

func (r *row) report(t *testing.T) {
	t.Helper()
	for _, note := range r.notes {
		t.Log(note)
	}
	if r.broken > 0 && !*waitingLoose {
		t.Errorf("%d rounds went another way", r.broken)
	}
	if bad := r.missed + r.early + r.falseExact + r.wrong; bad > 0 && !*waitingLoose {
		t.Errorf("of %d waits %d were missed, %d reported early, %d falsely as exact, %d as another kind", r.waits, r.missed, r.early, r.falseExact, r.wrong)
	}
}

func indent(text string) string { return "\t| " + strings.ReplaceAll(text, "\n", "\n\t| ") }

// TestWaitingCondition answers programs with the condition input alone: each outcome ends with the next question.
func TestWaitingCondition(t *testing.T) {
	t.Parallel()
	s := startWaitingServer(t)
	for _, d := range dialogues() {
		whole := slices.ContainsFunc(d.steps, func(st step) bool { return st.ends == "" || st.listening || st.also != "" })
		if whole || !d.selected(t) || *waitingTruth {
			continue
		}
		t.Run(d.group+"/"+d.name, func(t *testing.T) {
			t.Parallel()
			s := s.within(t)
			if why := d.missing(s.uid); why != "" {
				d.skip(t, why)
			}
			wait := object{"until": []object{{"exit": true}, {"input": true}}, "timeoutMs": (watchdog - time.Second).Milliseconds(), "format": "text"} // It includes the program's own work.
			j, o := s.startWith(d.program, object{"events": []string{}, "wait": wait})
			defer j.end()
			for n, st := range d.steps {
				text := o.Output["pty"].Text + o.Output["stdout"].Text
				if o.Reason != "input" || !compiled(`(?:`+st.ends+`)\z`).Match(plainOf([]byte(text))) {
					t.Fatalf("the wait before step %d ended with %s after %q", n, o.Reason, text)
				}
				if n == len(d.steps)-1 {
					break
				}
				params, r := st.params(j.handle), struct{ Outcome outcome }{}
				params["wait"] = wait
				s.call("job/write", params, &r)
				o = r.Outcome
			}
		})
	}
}
