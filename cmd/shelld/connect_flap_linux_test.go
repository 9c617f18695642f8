package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"shelld.dev/shelld/schema"
	"shelld.dev/shelld/session"
)

var flapVisits = flag.Int("flaps", 200, "how often clients come and go in TestFlap")

// flapSamples is how often TestFlap measures the host.
const flapSamples = 10

// A flapper is a client that comes and goes.
type flapper struct {
	role  schema.SessionRole
	name  string // its clientId; "": it has none
	fresh bool   // another name each time
	human bool
	twice bool // its connection is replaced by a second one
}

var flappers = []flapper{
	{role: schema.SessionRoleOwner, name: "owner"},
	{role: schema.SessionRoleDriver, name: "driver"},
	{role: schema.SessionRoleViewer, name: "viewer"},
	{role: schema.SessionRoleOwner, name: "new-owner", fresh: true},
	{role: schema.SessionRoleDriver, name: "new-driver", fresh: true},
	{role: schema.SessionRoleDriver},
	{role: schema.SessionRoleViewer, human: true},
	{role: schema.SessionRoleDriver, name: "replaced", twice: true},
}

// A flap is a session with a client that stays, a job, and clients that come and go.
type flap struct {
	*frontClient // stays
	dir          *session.Directory
	host         int
	token        string
	job          int64
}

// TestFlap has clients of all roles attach and leave at the same time, again and again, in different ways. The resources
// that the host holds between two rounds must stay constant.
func TestFlap(t *testing.T) {
	h := newHosted(t)
	f := &flap{frontClient: h.connect("-session", "work")}
	// Without session it is sent no events about other clients: it does not read them.
	var init struct{ Session struct{ Token string } }
	f.call("initialize", map[string]any{}, &init)
	var started struct{ Job struct{ Handle int64 } }
	f.call("job/start", map[string]any{"argv": []string{"sh", "-c", "echo hello; exec sleep 3600"}, "onDetach": "keep", "events": []string{}}, &started)
	f.host, f.token, f.job = h.host("work"), init.Session.Token, started.Job.Handle
	var err error
	if f.dir, err = session.Open(h.dir); err != nil {
		t.Fatal(err)
	}
	var samples []soakSample
	visits := 0
	for range flapSamples {
		var all sync.WaitGroup
		each := (*flapVisits + flapSamples*len(flappers) - 1) / (flapSamples * len(flappers))
		for i, c := range flappers {
			first := visits/len(flappers) + i // The ways to leave take turns.
			all.Go(func() {
				for n := range each {
					if err := f.visit(c, first+n); err != nil {
						t.Errorf("%+v: %v", c, err)
						return
					}
				}
			})
		}
		all.Wait()
		visits += each * len(flappers)
		samples = append(samples, f.sample())
		t.Logf("after %d visits: %+v", visits, samples[len(samples)-1])
		if t.Failed() {
			break
		}
	}
	flat(t, samples)
	h.end("work")
}

// visit attaches a client once, and returns when the host has closed its connection.
func (f *flap) visit(c flapper, n int) error {
	if c.fresh {
		c.name += fmt.Sprint("-", n)
	}
	v, err := f.attach(c)
	if err != nil {
		return err
	}
	defer v.close()
	if c.twice {
		second, err := f.attach(c)
		if err != nil {
			return err
		}
		defer second.close()
		if err := v.ended(); err != nil {
			return err
		}
		v = second
	}
	switch n % 4 {
	case 0:
		err = v.call("session/detach", map[string]any{})
	case 1:
		err = v.in.Close()
	case 2:
		err = v.link.Close() // as when the front is killed
	case 3:
		err = errors.Join(v.call("shutdown", map[string]any{}), v.send(map[string]any{"jsonrpc": "2.0", "method": "exit"}))
	}
	return errors.Join(err, v.ended())
}

// A flapVisit is one connection.
type flapVisit struct {
	in, out *os.File
	lines   *bufio.Reader
	link    *session.Link
	id      int
}

// attach hands a new connection over, and initializes it with a subscription to the job.
func (f *flap) attach(c flapper) (*flapVisit, error) {
	r, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	out, w, err := os.Pipe()
	if err != nil {
		_ = in.Close()
		return nil, err
	}
	defer w.Close()
	v := &flapVisit{in: in, out: out, lines: bufio.NewReader(out)}
	v.link, err = f.dir.Connect(session.Call{Session: "work", Existing: true, Client: session.Client{PID: os.Getpid(), Name: "flap"}, In: r, Out: w})
	if err == nil {
		params := &schema.SessionParams{Role: &c.role, Human: &c.human, Resume: []schema.SessionResume{{Handle: handleOf(f.job), From: json.RawMessage(`"start"`)}}}
		if c.name != "" {
			params.ClientID = &c.name
		}
		if c.role == schema.SessionRoleOwner {
			params.Token = &f.token
		}
		err = v.call("initialize", schema.InitializeParams{Session: params})
	}
	if err != nil {
		v.close()
		return nil, err
	}
	return v, nil
}

func (v *flapVisit) close() {
	_, _ = v.in.Close(), v.out.Close() // It may have closed them itself.
	if v.link != nil {
		_ = v.link.Close()
	}
}

func (v *flapVisit) send(message any) error {
	b, err := json.Marshal(message)
	if err != nil {
		return err
	}
	_, err = v.in.Write(append(b, '\n'))
	return err
}

// call makes a request, and awaits the answer.
func (v *flapVisit) call(method string, params any) error {
	v.id++
	if err := v.send(map[string]any{"jsonrpc": "2.0", "id": v.id, "method": method, "params": params}); err != nil {
		return err
	}
	if err := v.out.SetReadDeadline(time.Now().Add(watchdog)); err != nil {
		return err
	}
	for {
		line, err := v.lines.ReadBytes('\n')
		if err != nil {
			return fmt.Errorf("%s: %w", method, err)
		}
		var m struct {
			ID    int
			Error json.RawMessage
		}
		if err := json.Unmarshal(line, &m); err != nil || m.Error != nil {
			return fmt.Errorf("%s: %s, %w", method, line, err)
		}
		if m.ID == v.id {
			return nil
		}
	}
}

// ended reads what is left, to the end.
func (v *flapVisit) ended() error {
	if err := v.out.SetReadDeadline(time.Now().Add(watchdog)); err != nil {
		return err
	}
	_, err := io.Copy(io.Discard, v.lines)
	return err
}

// sample measures the host until two measurements agree: a connection ends a moment after its descriptors, and no event
// reports that.
func (f *flap) sample() soakSample {
	f.Helper()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for before, begun := f.look(), time.Now(); ; {
		<-tick.C
		now := f.look()
		same := before
		same.anonymous, same.threads = now.anonymous, now.threads // The runtime determines these.
		if now == same || time.Since(begun) > watchdog {
			return now // If the values do not settle, the comparison fails later.
		}
		before = now
	}
}

func (f *flap) look() soakSample {
	f.Helper()
	var stats schema.ServerStatsResult
	f.call("server/stats", schema.ServerStatsParams{}, &stats)
	var state schema.SessionGetResult
	f.call("session/get", schema.SessionGetParams{}, &state)
	if n := len(state.Session.Clients); n != 1 {
		f.Errorf("the session has %d clients, want 1: %+v", n, state.Session.Clients)
	}
	count := func(pattern string) int {
		found, err := filepath.Glob(fmt.Sprintf(pattern, f.host))
		if err != nil {
			f.Fatal(err)
		}
		return len(found)
	}
	return soakSample{
		anonymous: anonymous(f.T, f.host), goroutines: int(stats.Process.Goroutines), descriptors: count("/proc/%d/fd/*"),
		threads: count("/proc/%d/task/*"), children: len(childrenOf(f.T, f.host)),
	}
}
