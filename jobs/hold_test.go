package jobs

import (
	"testing"
	"testing/synctest"
)

// A job whose output is not read by the client still ends if there is nothing left to drain: the readLoop that waits
// for room ends when the descriptors are closed.
func TestHeldReaderEndsWithItsJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFakeWith(t, &recorder{}, func(m *Manager) { m.settings.limits.KeepJobs = 1 }, func(s *Spec) { s.Window = 2 })
		f.out.data <- []byte("four")
		synctest.Wait()
		if !f.output.streams[0].isHeld.Load() {
			t.Fatal("the reader does not wait for room")
		}
		f.out.idle.Store(true)
		f.proc.exit(0)
		f.proc.gone()
		<-f.output.streams[0].done
		f.finish()
	})
}
