package match

import (
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// standing calls do again and again in a process that is stopped every few milliseconds, some sixty times, as on a busy
// machine.
func standing(t *testing.T, do func()) {
	t.Helper()
	stop := exec.Command("sh", "-c", "for i in $(seq 60); do kill -STOP $0; sleep 0.04; kill -CONT $0; sleep 0.003; done", strconv.Itoa(syscall.Getpid()))
	if err := stop.Start(); err != nil {
		t.Skip("no shell to stop this process with: ", err)
	}
	done := make(chan error, 1)
	go func() { done <- stop.Wait() }()
	for {
		do()
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
			return
		default:
		}
	}
}

// A pattern is not blamed for a machine that stands still every few milliseconds.
func TestStandstillIsNotThePatternsFault(t *testing.T) {
	s := NewSet(0)
	s.Add(1, compile(t, `(x+x+)+[yz]|ok`, ""), Options{})
	text, feeds := []byte(strings.Repeat("xxxxxxxxxxx ok\n", 500)), 0 // some 15 ms, or slowdown times as long
	standing(t, func() {
		feeds++
		hits := s.Feed(text)
		if n := len(hits); n > 0 && hits[n-1].Removed != nil {
			t.Fatalf("removed by feed %d: %v", feeds, hits[n-1].Removed)
		}
	})
	t.Logf("%d feeds", feeds)
}

// It is not blamed either if one scan meets many standstills, as on a machine that has little time for it.
func TestStandstillsOfOneScan(t *testing.T) {
	w := &watch{pattern: compile(t, `(x+x+)+[yz]|ok`, "")}
	s, text := &scan{watch: w, scratch: new(scratch)}, []byte("xxxxxxxxxxx ok\n")
	standing(t, func() {
		s.used = 0 // The test is about the sum of the standstills, not of the search times.
		if spans, err := s.timed(text, 0); err != nil || len(spans) == 0 {
			t.Fatalf("found %v, %v", spans, err)
		}
	})
}

// And the first search of a scan that a standstill meets, before processor time is counted, counts for no more than the
// process's processor time.
func TestStandstillIsNotCounted(t *testing.T) {
	w := &watch{pattern: compile(t, `(x+x+)+[yz]|ok`, "")}
	text := []byte("xxxxxxxxxxx ok\n")
	standing(t, func() {
		s := &scan{watch: w, scratch: new(scratch)}
		for range 10 { // 0.3 ms, of which 0.2 do not count
			if _, err := s.timed(text, 0); err != nil {
				t.Fatal(err)
			}
		}
		if s.used >= searchLimit { // The most that one search may count, which a standstill alone would reach.
			t.Fatalf("the searches count for %v", s.used)
		}
	})
}
