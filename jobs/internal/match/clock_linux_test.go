package match

import (
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// A machine that stands still every few milliseconds, as a busy one does, is not the pattern's
// fault.
func TestStandstillIsNotThePatternsFault(t *testing.T) {
	s := NewSet(0)
	s.Add(1, compile(t, `(x+x+)+[yz]|ok`, ""), Options{})
	stop := exec.Command("sh", "-c", "for i in $(seq 30); do kill -STOP $0; sleep 0.04; kill -CONT $0; sleep 0.003; done", strconv.Itoa(syscall.Getpid()))
	if err := stop.Start(); err != nil {
		t.Skip("no shell to stop this process with: ", err)
	}
	done := make(chan error, 1)
	go func() { done <- stop.Wait() }()
	text, feeds := []byte(strings.Repeat("xxxxxxxxxxx ok\n", 500)), 0 // some 15 ms, or as much slower as the limit is longer
	for ended := false; !ended; feeds++ {
		hits := s.Feed(text)
		if n := len(hits); n > 0 && hits[n-1].Removed != nil {
			t.Fatalf("removed by feed %d: %v", feeds, hits[n-1].Removed)
		}
		select {
		case err := <-done:
			if ended = true; err != nil {
				t.Error(err)
			}
		default:
		}
	}
	t.Logf("%d feeds", feeds)
}
