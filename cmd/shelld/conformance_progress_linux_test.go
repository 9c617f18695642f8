package main

import (
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestConformanceProgress checks that a run shows its progress on a terminal, and that an interrupt ends it with a
// summary and leaves nothing.
func TestConformanceProgress(t *testing.T) {
	s := sit(t, "conformance", "run", "-framing", "line", "core/initialize", "core/job-not-found", "--", "shelld")
	s.left(0)
	s.await("2 passed, 0 failed in ")
	if seen := s.text(); !strings.Contains(seen, "1 of 2 tried, 0 failed\r\x1b[K") {
		t.Errorf("seen is %q", seen)
	}
	s = sit(t, "conformance", "run", "-framing", "line", "-j", "2", "core/*", "--", "shelld")
	s.await(" tried, 0 failed\r\x1b[K1 of ")
	s.signal(syscall.SIGINT)
	if got := waited(t, s.cmd); got != 130 {
		t.Errorf("it exited with %d; to be seen: %q", got, s.text())
	}
	(&doomed{mark: s.mark}).awaitGone(t, time.Now(), watchdog) // They were killed.
	s.await("shelld conformance run: interrupted; ")
	s.await(" tried\r\n")
	if seen := s.text(); !regexp.MustCompile(`\x1b\[K[1-9][0-9]* passed, 0 failed[^\n]* in [0-9.]+s\r\n(.*\r\n)*shelld conformance run: interrupted; [1-9][0-9]* of [0-9]{3} tried\r\n$`).MatchString(seen) || strings.Contains(seen, "FAIL") {
		t.Errorf("seen is %q", seen)
	}
}
