package jobs

import (
	"bytes"
	"testing"
	"time"
)

// A backlog is a job with stored output, and a watch that is far behind that output.
type backlog struct {
	*fakeJob
	watch int // its number
}

// startBacklog makes a job write 4 MiB, and then adds patterns that begin at its start and need many seconds for it.
// The last of them is backlog.watch.
func startBacklog(t *testing.T) backlog {
	t.Helper()
	f := startFakeWith(t, &recorder{}, func(m *Manager) { m.settings.limits.SpoolMemory = 8 << 20 })
	line := append(bytes.Repeat([]byte("ab"), 500), '\n')
	chunk := bytes.Repeat(line, smallRead/len(line))
	for n := 0; n < 4<<20; n += len(chunk) {
		f.out.data <- chunk
	}
	b := backlog{fakeJob: f}
	for range 60 {
		p, err := f.Watch(WatchSpec{Pattern: "a(?=[ab]{9})"}, true)
		if err != nil {
			t.Fatal(err)
		}
		b.watch = must(t, p)
	}
	return b
}

// A wait can time out while its pattern searches the stored output.
func TestWaitEndsWhileItCatchesUp(t *testing.T) {
	b := startBacklog(t)
	defer b.finish()
	behind := b.Unwatch(b.watch)
	spec := &WaitSpec{Until: []Condition{{Kind: UntilPattern, Watch: WatchSpec{Pattern: "never there"}}}, Timeout: 50 * time.Millisecond, From: Origin{Kind: FromStart}}
	w, err := b.Wait(spec)
	if err != nil {
		t.Fatal(err)
	}
	select {
	case r := <-w.C:
		if r.Err != nil || r.Value.Reason != "timeout" || r.Value.Output[PTY].From != 0 {
			t.Errorf("%+v, %v", r.Value, r.Err)
		}
	case <-behind.C:
		t.Error("the wait ends behind its timeout")
	}
}

// Waits, watches and unwatch requests are handled while other patterns are far behind.
func TestFollowerServesBetweenPieces(t *testing.T) {
	b := startBacklog(t)
	defer b.finish()
	behind := b.Unwatch(b.watch)
	late := func(what string) {
		select {
		case <-behind.C:
			t.Fatalf("%s behind the patterns that look at what is stored", what)
		default:
		}
	}
	spec := &WaitSpec{Until: []Condition{{Kind: UntilPattern, Watch: WatchSpec{Pattern: "new\n"}}}, Timeout: -1, From: Origin{Kind: FromNow}}
	w, err := b.Wait(spec)
	if err != nil {
		t.Fatal(err)
	}
	watch, err := b.Watch(WatchSpec{Pattern: "new\n"}, false)
	if err != nil {
		t.Fatal(err)
	}
	id := must(t, watch)
	b.out.data <- []byte("new\n")
	if r := <-w.C; r.Err != nil || r.Value.Reason != "pattern" {
		t.Errorf("%+v, %v", r.Value, r.Err)
	}
	late("a wait is answered")
	must(t, b.Unwatch(id))
	late("a watch is taken away")
	if n := b.sink.matched("new\n"); n != 1 {
		t.Errorf("%d matches of a watch that was taken away after one", n)
	}
}

// matched returns the number of reported matches with this text.
func (r *recorder) matched(text string) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.events {
		if e.Matched != nil && e.Matched.Match.Text == text {
			n++
		}
	}
	return n
}
