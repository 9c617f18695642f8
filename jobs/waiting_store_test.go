package jobs

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"shelld.dev/shelld/jobs/internal/inputwait"
	"shelld.dev/shelld/jobs/stored"
)

// A storedJob is a simulated job whose info.json says whether it waits for input. No client has asked for that.
type storedJob struct {
	*fakeJob
	looker *fakeLooker
	path   string
}

func startStored(t *testing.T) storedJob {
	dir, l := t.TempDir(), &fakeLooker{sees: works, began: time.Now()}
	f := startFakeWith(t, &recorder{}, func(m *Manager) {
		p := persistIn(dir)
		p.Encode = func(i Info) ([]byte, error) {
			return fmt.Append(nil, i.Waiting != nil && i.Waiting.Waiting), nil
		}
		keepFiles(t, m, p, m.settings.limits)
	})
	f.turn(func() { f.looker = l })
	return storedJob{f, l, filepath.Join(dir, "session", "1", stored.InfoFile)}
}

// waitsOnDisk checks the content of info.json.
func (f storedJob) waitsOnDisk(want bool, when string) {
	f.t.Helper()
	synctest.Wait()
	if got, err := os.ReadFile(f.path); err != nil || string(got) != fmt.Sprint(want) {
		f.t.Errorf("%s: info.json says that it waits: %s, %v, want %t", when, got, err, want)
	}
}

// storeDelay is the maximum delay of info.json after a change without output or input: the interval between two probes,
// the time for which a wait stays valid although probes do not see it, and the time until the file is written.
const storeDelay = slowestStoreLook + doubtTime + recordWaitTime + 50*time.Millisecond

// info.json follows the state of a job however long ago its last output or input was: a program may begin to read, and
// go on, without either.
func TestStoredWaitFollowsSilentChanges(t *testing.T) {
	for _, quiet := range []time.Duration{2 * time.Second, 12 * time.Second, 45 * time.Second, time.Hour} {
		t.Run(quiet.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := startStored(t)
				f.shows("Go? ")
				time.Sleep(quiet)
				f.waitsOnDisk(false, "while it works")
				for range 3 {
					f.looker.set(reads)
					time.Sleep(storeDelay)
					f.waitsOnDisk(true, "when it has begun to read")
					f.looker.set(works)
					time.Sleep(storeDelay)
					f.waitsOnDisk(false, "when it has gone on")
				}
				f.end()
			})
		})
	}
}

// info.json soon shows that a job has begun to wait in its first second, and also that it has gone on.
func TestStoredWaitIsSoonThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startStored(t)
		f.shows("Go? ")
		f.looker.set(reads)
		time.Sleep(storeLookTime + recordWaitTime + ms(50))
		f.waitsOnDisk(true, "when it reads")
		f.looker.set(works)
		for range 20 { // It prints, and is never quiet long enough for a probe.
			f.shows("working\r\n")
			time.Sleep(ms(300))
		}
		f.waitsOnDisk(false, "while it prints")
		f.end()
	})
}

// If a probe falls into a moment in which a polling program is awake, the program still counts as waiting.
func TestStoredWaitOutlastsAMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startStored(t)
		f.looker.set(reads)
		time.Sleep(time.Minute)
		f.waitsOnDisk(true, "when it reads")
		looks := len(f.looker.taken())
		f.looker.set(works)
		for range 35_000 {
			if time.Sleep(time.Millisecond); len(f.looker.taken()) > looks {
				break
			}
		}
		if len(f.looker.taken()) == looks {
			t.Error("it was not looked at")
		}
		f.looker.set(reads)
		for range 100 {
			time.Sleep(ms(20))
			f.waitsOnDisk(true, "when it was awake for a moment")
		}
		f.end()
	})
}

// A job that has been quiet for long costs two probes a minute. All jobs are probed at the same moments.
func TestStoredWaitCostsLittle(t *testing.T) {
	for _, sees := range []inputwait.Verdict{works, reads, {Why: "it has not been quiet for long enough", Again: ms(250)}} {
		synctest.Test(t, func(t *testing.T) {
			f := startStored(t)
			f.looker.set(sees)
			time.Sleep(10*time.Minute + 5*time.Second) // No probe is due at the beginning or end of the counted time.
			before := f.looker.taken()
			if n := len(before); n > 26 { // at 1, 2, 4, 8, 16 and 32 s, and then every slowestStoreLook
				t.Errorf("in the first ten minutes it was looked at %d times", n)
			}
			time.Sleep(10 * time.Minute)
			late := f.looker.taken()[len(before):]
			if len(late) != 20 {
				t.Errorf("in ten minutes it was looked at %d times, want 20", len(late))
			}
			for _, at := range late {
				if at := f.looker.began.Add(at).Sub(f.mgr.own.began); at%slowestStoreLook != 0 {
					t.Errorf("it was looked at %v after the server's start", at)
				}
			}
			f.end()
		})
	}
}
