package rpc_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"shelld.dev/shelld/client"
	"shelld.dev/shelld/jobs"
	"shelld.dev/shelld/rpc"
	"shelld.dev/shelld/schema"
)

// rounds returns how many starts and ends TestRoundsLeaveNothing makes, and after how many of them it begins to
// compare: from then on the server knows its maximum of ended jobs.
func rounds() (all, from int) {
	return scaled(10_000, 1_000, 300), scaled(1_000, 500, 150)
}

// TestRoundsLeaveNothing starts and ends jobs of all kinds, and checks that nothing leaks: descriptors, goroutines,
// processes and files. Memory stays within a bound.
func TestRoundsLeaveNothing(t *testing.T) {
	if len(jobs.Platform().Modes) == 0 {
		t.Skip("there are no jobs on this system")
	}
	first := openPlain(t) // Objects that are made once per process stay, such as the receiver of signals.
	first.round(t, 0)
	first.end(t)
	var before holdings
	if err := eventually(func() error {
		if before = look(); before.keepers > 0 {
			return fmt.Errorf("%d keepers of the first server are there", before.keepers)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	p := openPlain(t)
	all, from := rounds()
	var early holdings
	for i := range all {
		if i == from {
			early = p.settled(t)
		}
		p.round(t, i)
	}
	late := p.settled(t)
	t.Logf("after %d rounds: %v", from, early)
	t.Logf("after %d rounds: %v", all, late)
	early.compare(t, late)
	// Data that is kept for an ended job would be far more than this.
	if most := early.heap + 256<<10 + uint64(all-from)*16; late.heap > most {
		t.Errorf("%d bytes of memory are live, want at most %d", late.heap, most)
	}
	p.end(t)
	if err := eventually(func() error { return before.same(look()) }); err != nil {
		t.Error(err)
	}
}

// A plain client runs rounds without recording the messages, as the sessions of other tests do.
type plain struct {
	client *client.Conn
	over   chan struct{} // closed when the server has ended
	files  string        // directory of output files

	mu      sync.Mutex
	closed  map[int64]bool
	changed chan struct{}
}

func openPlain(t *testing.T) *plain {
	t.Helper()
	m, err := jobs.NewManager(jobs.Options{Root: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	p := &plain{over: make(chan struct{}), closed: map[int64]bool{}, changed: make(chan struct{}, 1)}
	go func() {
		defer close(p.over)
		if clean, err := rpc.Serve(context.Background(), inR, outW, m, rpc.Options{}); !clean || err != nil {
			t.Errorf("the server ended: clean %v, error %v", clean, err)
		}
		_, _ = inR.Close(), outW.Close() // They cannot fail.
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}()
	p.client = client.NewConn(outR, inW, p.notice, nil)
	var r schema.InitializeResult
	p.call(t, "initialize", obj{"options": obj{"env": obj{"set": obj{markName: mark}}}}, &r)
	if r.StateDirectory == nil {
		t.Fatal("output is kept in memory alone")
	}
	p.files = filepath.Join(*r.StateDirectory, r.SessionID)
	return p
}

func (p *plain) notice(n client.Event) {
	if n.Method != "job/closed" {
		return
	}
	var closed schema.JobClosedParams
	if json.Unmarshal(n.Params, &closed) == nil {
		p.mu.Lock()
		p.closed[closed.Handle] = true
		p.mu.Unlock()
		select {
		case p.changed <- struct{}{}:
		default:
		}
	}
}

func (p *plain) call(t *testing.T, method string, params, result any) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), watchdog)
	defer cancel()
	if err := p.client.Call(ctx, method, params, result); err != nil {
		t.Fatalf("%s: %v", method, err)
	}
}

// round runs one job from start to end, in one of several ways.
func (p *plain) round(t *testing.T, i int) {
	t.Helper()
	var r schema.JobStartResult
	mode := []string{"pipe", "pty"}[i%2]
	switch i / 2 % 5 {
	case 0:
		p.call(t, "job/start", obj{"argv": []string{"true"}, "mode": mode}, &r)
	case 1:
		p.call(t, "job/start", obj{"argv": []string{"echo", "ready"}, "mode": mode, "watch": []obj{{"pattern": "ready"}},
			"wait": obj{"until": []obj{{"pattern": "read."}}}}, &r)
	case 2:
		p.call(t, "job/run", obj{"argv": []string{"false"}, "mode": mode}, nil)
		return
	case 3:
		p.call(t, "job/start", obj{"argv": []string{"cat"}, "mode": mode}, &r)
		p.call(t, "job/kill", obj{"handle": r.Job.Handle}, nil)
	case 4:
		if err := p.client.Call(context.Background(), "job/start", obj{"argv": []string{"no-such-program"}, "mode": mode}, nil); err == nil {
			t.Fatal("a program that does not exist was started")
		}
		return
	}
	p.awaitClosed(t, r.Job.Handle)
}

func (p *plain) awaitClosed(t *testing.T, handle int64) {
	t.Helper()
	late := time.NewTimer(watchdog)
	defer late.Stop()
	for {
		p.mu.Lock()
		ok := p.closed[handle]
		delete(p.closed, handle)
		p.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-p.changed:
		case <-late.C:
			t.Fatalf("job %d does not close", handle)
		}
	}
}

// knownJobs is the number of ended jobs that the server knows, each with a directory.
const knownJobs = 100

// settled waits until the files of forgotten jobs are gone, which takes a while in which no job ends, and returns the
// holdings.
func (p *plain) settled(t *testing.T) holdings {
	t.Helper()
	if err := eventually(func() error {
		kept, err := filepath.Glob(filepath.Join(p.files, "[0-9]*")) // The lock belongs to no job.
		if err == nil && len(kept) > knownJobs {
			err = fmt.Errorf("the files of %d jobs are there, want at most %d", len(kept), knownJobs)
		}
		return err
	}); err != nil {
		t.Error(err)
	}
	return look()
}

func (p *plain) end(t *testing.T) {
	t.Helper()
	p.call(t, "shutdown", nil, nil)
	if err := p.client.Notify("exit", obj{}); err != nil {
		t.Error(err)
	}
	<-p.over
	<-p.client.Done()
}

// holdings are the resources of this process. A keeper that waits for the next job is not a leak: it and its resources
// in the server are counted separately.
type holdings struct {
	descriptors map[string]int // by kind, without those of keepers
	goroutines  int            // the same
	keepers     int
	strangers   []string // children that are not keepers
	heap        uint64   // live
}

// maxKeepers is the maximum number of keepers for the next jobs.
const maxKeepers = 4

// look waits until keepers have started or ended, of which there is no notification.
func look() holdings {
	h := glance()
	for end := time.Now().Add(watchdog); time.Now().Before(end); {
		again := glance()
		if len(again.strangers) == 0 && h.same(again) == nil && h.keepers == again.keepers {
			return again
		}
		h = again
	}
	return h
}

func glance() holdings {
	h := holdings{descriptors: map[string]int{}}
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	h.heap, h.goroutines = m.HeapAlloc, runtime.NumGoroutine()
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, f := range files {
		text, _ := os.ReadFile(f) // It may have ended meanwhile.
		var state byte
		var parent int
		_, rest, _ := strings.Cut(string(text), ") ")
		if _, err := fmt.Sscanf(rest, "%c %d", &state, &parent); err != nil || parent != os.Getpid() {
			continue
		}
		// A starting keeper has the name of its file, and an ended one is Z.
		if strings.Contains(string(text), "(shelld-keeper) ") && state != 'Z' {
			h.keepers++
		} else {
			h.strangers = append(h.strangers, string(text))
		}
	}
	fds, _ := os.ReadDir("/proc/self/fd")
	for _, fd := range fds {
		link, err := os.Readlink("/proc/self/fd/" + fd.Name())
		if err == nil && !strings.HasSuffix(link, "/fd") { // the directory that is being read
			kind, _, _ := strings.Cut(link, ":[")
			h.descriptors[kind]++
		}
	}
	// The server's end of a keeper's socket, the keeper's pidfd, and its reader.
	h.descriptors["socket"] -= h.keepers
	h.descriptors["anon_inode"] -= h.keepers
	h.goroutines -= h.keepers
	return h
}

// same returns an error if the holdings differ, except for keepers and memory.
func (h holdings) same(now holdings) error {
	zero := func(_ string, n int) bool { return n == 0 }
	was, is := maps.Clone(h.descriptors), maps.Clone(now.descriptors)
	maps.DeleteFunc(was, zero)
	maps.DeleteFunc(is, zero)
	if !maps.Equal(was, is) || h.goroutines != now.goroutines || !slices.Equal(h.strangers, now.strangers) {
		return fmt.Errorf("there were %v, and are now %v", h, now)
	}
	return nil
}

func (h holdings) compare(t *testing.T, now holdings) {
	t.Helper()
	if err := h.same(now); err != nil {
		t.Error(err)
	}
	if now.keepers > maxKeepers {
		t.Errorf("%d keepers without a job, want at most %d", now.keepers, maxKeepers)
	}
}

func (h holdings) String() string {
	return fmt.Sprintf("descriptors %v, %d goroutines, %d keepers, other children %q, %d KiB of memory",
		h.descriptors, h.goroutines, h.keepers, h.strangers, h.heap>>10)
}
