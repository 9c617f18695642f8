package rpc_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"shelld.dev/shelld/schema"
)

var (
	cutRounds = flag.Int("cuts", 40, "rounds of TestCuts; 10 with -short")
	cutSeed   = flag.Uint64("cutseed", 0, "seed of TestCuts; 0: another one each time")
)

// TestCuts cuts the connections of a client at random bytes, in both directions. The client comes back with what it knows:
// the numbers and offsets up to which it has its jobs, and the keys of its requests without an answer. In the end it has
// every byte and every event once, and each of its requests was carried out once.
func TestCuts(t *testing.T) {
	rounds, seed := *cutRounds, *cutSeed
	if testing.Short() {
		rounds = min(rounds, 10)
	}
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("-cutseed %d", seed)
	for i := range rounds {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			c := &cutClient{t: t, h: share(t), rnd: rand.New(rand.NewPCG(seed, uint64(i))), jobs: map[int64]*cutJob{}}
			c.round()
		})
	}
}

// A cutClient is a client that comes back until it has all that it wants.
type cutClient struct {
	t     *testing.T
	h     *shared
	rnd   *rand.Rand
	todo  []*keyedRequest
	jobs  map[int64]*cutJob // by handle, as far as the client knows
	conns int
}

// A keyedRequest is a request that is sent again until it is answered.
type keyedRequest struct {
	method string
	params obj
	of     *keyedRequest // not nil: it is about the job that this one starts
	done   bool
	handle int64 // of the job that it has started
	result json.RawMessage
	call   *call
}

// A cutJob is what the client knows of a job.
type cutJob struct {
	data map[string][]byte
	n    []int64
	seen map[string]int // events by method
}

func (c *cutClient) want(method string, params obj, of *keyedRequest) *keyedRequest {
	params["key"] = fmt.Sprintf("%s %d", method, len(c.todo))
	r := &keyedRequest{method: method, params: params, of: of}
	c.todo = append(c.todo, r)
	return r
}

// round starts writers on pipes and on a terminal, and a job that copies its input, runs commands, and types lines.
func (c *cutClient) round() {
	file := filepath.Join(c.t.TempDir(), "done")
	env := obj{"FILE": file}
	start := func(name, mode, command string, more ...any) *keyedRequest {
		return c.want("job/start", merged(obj{"command": `echo ` + name + ` >>"$FILE"; ` + command, "shell": "sh", "mode": mode, "env": env}, more), nil)
	}
	lines := 2000 + c.rnd.IntN(20_000)
	pipe := start("pipe", "pipe", fmt.Sprintf("seq %d", lines))
	pty := start("pty", "pty", fmt.Sprintf("stty -opost; seq %d", lines))
	cat := start("cat", "pipe", "exec cat", "stdin", "open")
	var typed, happened strings.Builder
	happened.WriteString("cat\npipe\npty\n")
	for i := range 8 {
		line := fmt.Sprintf("line %d of the input\n", i)
		typed.WriteString(line)
		c.want("job/write", obj{"input": line}, cat)
		if i < 4 {
			c.want("job/run", obj{"command": fmt.Sprintf(`echo run %d >>"$FILE"; echo %d`, i, i), "shell": "sh", "env": env}, nil)
			fmt.Fprintf(&happened, "run %d\n", i)
		}
	}
	c.want("job/write", obj{"input": "", "eof": true}, cat)
	for !c.connection() {
	}
	for r, want := range map[*keyedRequest][2]string{pipe: {"stdout", numbers(1, lines)}, pty: {"pty", numbers(1, lines)}, cat: {"stdout", typed.String()}} {
		j := c.jobs[r.handle]
		if got := string(j.data[want[0]]); got != want[1] {
			c.t.Errorf("job %d: %d bytes of output, want %d: %.100q", r.handle, len(got), len(want[1]), got)
		}
		if j.seen["job/exited"] != 1 || j.seen["job/closed"] != 1 || j.seen["job/started"] > 1 {
			c.t.Errorf("job %d: events %v", r.handle, j.seen)
		}
		for i, n := range j.n {
			if first := j.n[0]; first > 2 || n != first+int64(i) {
				c.t.Errorf("job %d: events with the numbers %v", r.handle, j.n)
				break
			}
		}
	}
	got, err := os.ReadFile(file)
	all := strings.SplitAfter(string(got), "\n")
	slices.Sort(all)
	if err != nil || strings.Join(all, "") != happened.String() {
		c.t.Errorf("%v: what happened is\n%swant\n%s", err, strings.Join(all, ""), happened.String())
	}
	for i, r := range c.todo {
		if r.method == "job/run" {
			var res schema.JobRunResult
			_ = json.Unmarshal(r.result, &res)
			if !strings.Contains(r.params["command"].(string), "echo run "+strings.TrimSpace(str(res.Stdout))+" ") {
				c.t.Errorf("request %d: stdout %q", i, str(res.Stdout))
			}
		}
	}
}

// connection does as much as one connection allows, and reports whether that was all.
func (c *cutClient) connection() (done bool) {
	c.conns++
	read, written := int64(-1), int64(-1)
	if c.conns <= 12 { // The last one is not cut.
		if c.rnd.IntN(3) > 0 {
			written = 1 + c.rnd.Int64N(1<<(10+c.rnd.IntN(9)))
		}
		if written < 0 || c.rnd.IntN(3) == 0 {
			read = 1 + c.rnd.Int64N(5000)
		}
	}
	s := c.h.connect(read, written)
	defer c.absorb(s)
	known := []obj{}
	for handle, j := range c.jobs {
		from := obj{}
		for stream, data := range j.data {
			from[stream] = len(data)
		}
		known = append(known, obj{"handle": handle, "after": j.last(), "from": place(from)})
	}
	if _, ok := s.begin("initialize", obj{"session": obj{"clientId": "c", "resume": known}}).maybe(); !ok {
		return false
	}
	if !c.ask(s) {
		return false
	}
	return s.comes("the end of the jobs", func() bool {
		for _, r := range c.todo {
			if r.method != "job/start" || c.jobs[r.handle] != nil && c.jobs[r.handle].seen["job/closed"] > 0 {
				continue
			}
			if !slices.ContainsFunc(s.events, func(e event) bool { return e.Handle == r.handle && e.Method == "job/closed" }) {
				return false
			}
		}
		return true
	}) && s.ends()
}

// ends reports whether the end of the jobs is in the messages, and not only that of the connection.
func (s *session) ends() bool { return !s.cutOff.Load() }

// place returns the place from which output is sent, by the offsets of the streams.
func place(from obj) any {
	if off, ok := from["pty"]; ok {
		return off
	}
	if len(from) == 0 {
		return "start"
	}
	return from
}

func (j *cutJob) last() int64 {
	if len(j.n) == 0 {
		return 0
	}
	return j.n[len(j.n)-1]
}

// ask sends the requests without an answer, first those that start something, and waits for the answers.
func (c *cutClient) ask(s *session) bool {
	for _, ofJob := range []bool{false, true} {
		for _, r := range c.todo {
			if r.done || (r.of != nil) != ofJob {
				continue
			}
			if r.of != nil {
				r.params["handle"] = r.of.handle
			}
			r.call = s.begin(r.method, r.params)
		}
		for _, r := range c.todo {
			if !r.done && (r.of != nil) == ofJob && !c.take(s, r) {
				return false
			}
		}
	}
	return true
}

// take waits for the answer of a request.
func (c *cutClient) take(s *session, r *keyedRequest) bool {
	a, ok := r.call.maybe()
	if !ok {
		return false
	}
	if a.Error != nil {
		c.t.Fatalf("%s %s: %+v", r.method, encode(r.params), a.Error)
	}
	r.done, r.result = true, a.Result
	var res struct {
		Job      struct{ Handle int64 }
		Replayed bool
	}
	_ = json.Unmarshal(a.Result, &res)
	if r.method != "job/start" {
		return true
	}
	r.handle = res.Job.Handle
	known := c.jobs[r.handle] != nil
	c.job(r.handle)
	if !res.Replayed || known {
		return true // Its events come to this connection.
	}
	_, ok = s.begin("job/subscribe", obj{"handle": r.handle, "after": 0, "from": "start"}).maybe()
	return ok
}

// absorb takes over what has come on a connection that is cut, or done with.
func (c *cutClient) absorb(s *session) {
	s.cut()
	s.wait("the end", func() bool { return s.eof })
	for _, e := range s.events {
		if e.Handle == 0 {
			continue
		}
		j := c.job(e.Handle)
		if e.Method == "job/output" {
			if e.Offset != int64(len(j.data[e.Stream])) || e.Gap != nil {
				c.t.Errorf("job %d: output from %d, after %d bytes; gap %v", e.Handle, e.Offset, len(j.data[e.Stream]), e.Gap)
			}
			j.data[e.Stream] = append(j.data[e.Stream], e.data()...)
			continue
		}
		j.seen[e.Method]++
		if e.N <= j.last() {
			c.t.Errorf("job %d: %s has the number %d, after %d", e.Handle, e.Method, e.N, j.last())
		}
		j.n = append(j.n, e.N)
	}
}

func (c *cutClient) job(handle int64) *cutJob {
	if c.jobs[handle] == nil {
		c.jobs[handle] = &cutJob{data: map[string][]byte{}, seen: map[string]int{}}
	}
	return c.jobs[handle]
}

// maybe waits for an answer, or the end of a connection that is cut.
func (c *call) maybe() (a answer, ok bool) {
	c.s.t.Helper()
	c.s.comes("answer to "+c.method+" "+c.id, func() bool {
		if all := c.s.answers[c.id]; len(all) > c.taken {
			a, ok = all[c.taken], true
		}
		return ok
	})
	return a, ok
}
