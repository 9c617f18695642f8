package jobs

import (
	"testing"
	"testing/synctest"
	"time"

	"shelld/jobs/internal/keeper"
)

// TestEndInTime: a leader that has ended by itself when its time was over is not told as
// ended by that, and one that the end of its time has ended is.
func TestEndInTime(t *testing.T) {
	for _, c := range []struct {
		byItself bool
		want     Reason
	}{{true, ReasonExited}, {false, ReasonTimeout}} {
		synctest.Test(t, func(t *testing.T) {
			f := startFake(t, &recorder{})
			run := f.Run(RunOptions{Timeout: time.Second})
			<-f.proc.kills
			f.proc.tell(keeper.Event{Kind: keeper.Exited, Code: 3, ByItself: c.byItself})
			f.proc.gone()
			r := must(t, run)
			if r.Info.Exit.Reason != c.want || *r.Info.Exit.Code != 3 || r.TimedOut == c.byItself {
				t.Errorf("by itself %v: %+v, timed out %v", c.byItself, *r.Info.Exit, r.TimedOut)
			}
			f.finish()
		})
	}
}
