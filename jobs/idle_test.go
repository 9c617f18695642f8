package jobs

import (
	"testing"
	"testing/synctest"
	"time"
)

// A job is idle since its last output or since its input was taken. The published info agrees with that of a request.
func TestIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFake(t, &recorder{})
		expect := func(when string, want time.Duration) {
			t.Helper()
			if idle, ok := must(t, f.Info()).Idle(); !ok || idle != want {
				t.Errorf("%s: idle for %v, %v, want %v", when, idle, ok, want)
			}
			if idle, ok := f.Published().Idle(); !ok || idle != want {
				t.Errorf("%s: published as idle for %v, %v, want %v", when, idle, ok, want)
			}
		}
		time.Sleep(3 * time.Second)
		expect("from the start on", 3*time.Second)
		f.out.data <- []byte("output")
		time.Sleep(2 * time.Second)
		expect("after output", 2*time.Second)
		written := f.Write1("input")
		f.in.room <- 100
		must(t, written)
		time.Sleep(time.Second)
		expect("after input", time.Second)
		f.end()
	})
}
