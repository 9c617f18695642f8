package jobs

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// A slowDisk blocks writes until on is closed.
type slowDisk struct {
	dir string
	on  chan struct{}
}

// startSlow starts a simulated job whose files are on a slow disk.
func startSlow(t *testing.T, sink *recorder) (*fakeJob, *slowDisk) {
	t.Helper()
	d := &slowDisk{t.TempDir(), make(chan struct{})}
	return startFakeWith(t, sink, func(m *Manager) {
		p := persistIn(d.dir)
		p.Encode = func(i Info) ([]byte, error) {
			<-d.on
			return encodeForTest(i)
		}
		keepFiles(t, m, p, m.settings.limits)
	}), d
}

func TestClosedComesAfterTheFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := &recorder{}
		f, d := startSlow(t, sink)
		f.out.data <- []byte("text")
		f.proc.exit(0)
		f.proc.gone()
		synctest.Wait()
		if got := sink.names(); !slices.Equal(got, []string{"exited"}) {
			t.Errorf("events %v before the files are complete", got)
		}
		close(d.on)
		synctest.Wait()
		if got := sink.names(); !slices.Equal(got, []string{"exited", "closed"}) {
			t.Errorf("events %v", got)
		}
		got, err := os.ReadFile(filepath.Join(d.dir, "session", "1", "info.json"))
		if err != nil || string(got) != "1 closed pty 4 [{0 4}]" {
			t.Errorf("info.json is %q, %v", got, err)
		}
		f.finish()
	})
}

// A stalled disk delays a kill, a run and the server's end only for a limited time.
func TestSlowDiskDoesNotBlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, d := startSlow(t, &recorder{})
		began := time.Now()
		p := f.Kill(KillOptions{})
		ran := f.Run(RunOptions{Timeout: -1})
		<-f.proc.kills
		f.proc.exit(0)
		f.proc.gone()
		if r := must(t, ran); !r.Complete || r.Info.Status != StatusExited || time.Since(began) != nobodyLeft {
			t.Errorf("the run ends %v, complete %v, after %v", r.Info.Status, r.Complete, time.Since(began))
		}
		if r := must(t, p); r.State.Status != StatusExited || time.Since(began) != fileTime {
			t.Errorf("killed, it is %s after %v", r.State.Status, time.Since(began))
		}
		began = time.Now()
		f.m.Shutdown()
		if took := time.Since(began); took != shutdownFiles {
			t.Errorf("the shutdown took %v", took)
		}
		began = time.Now()
		if err := f.m.Close(); err == nil {
			t.Error("Close does not tell of the disk")
		}
		if took := time.Since(began); took != shutdownSlack {
			t.Errorf("the end took %v", took)
		}
		close(d.on)
		<-f.m.settings.archive.done
		f.output.loops.Wait()
	})
}

// info.json is not written at once after the start of a job, so that it is written only once if the job ends soon.
func TestInfoIsWrittenLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, d := startSlow(t, &recorder{})
		close(d.on)
		info := filepath.Join(d.dir, "session", "1", "info.json")
		time.Sleep(recordTime - 1)
		synctest.Wait()
		if isThereNow(info) {
			t.Error("it was written at once")
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if got, err := os.ReadFile(info); err != nil || string(got) != "1 running pty 0 []" {
			t.Errorf("info.json is %q, %v", got, err)
		}
		f.end()
	})
}

func isThereNow(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// A read that is cancelled while its bytes are in transit does not move the cursor, and the next read returns these
// bytes.
func TestCancelledCursorRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFake(t, &recorder{})
		first := f.Read(ReadOptions{MaxBytes: 3, Wait: time.Hour})
		second := f.Read(ReadOptions{MaxBytes: 3, Wait: time.Hour})
		synctest.Wait()
		first.Cancel()
		refused(t, first, CodeCanceled)
		f.out.data <- []byte("abcdef")
		if r := must(t, second); string(r.Data) != "abc" {
			t.Errorf("%q", r.Data)
		}
		// The goroutine of this read has begun. If the read is cancelled, its result is dropped.
		third := f.Read(ReadOptions{MaxBytes: 3})
		third.Cancel()
		var got string
		if r := <-third.C; r.Err == nil {
			got = string(r.Value.Data)
		}
		got += string(must(t, f.Read(ReadOptions{MaxBytes: 3})).Data)
		if got != "def" {
			t.Errorf("the rest is %q", got)
		}
		f.end()
	})
}
