package jobs

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"
)

// Shutdown waits for many files to be deleted as long as the deletions make progress, but not for long and not for a
// stalled disk.
func TestArchiveEnds(t *testing.T) {
	for _, c := range []struct {
		drops int
		each  time.Duration
		want  bool
	}{{100, shutdownSlack * 9 / 10, true}, {1000, shutdownSlack * 9 / 10, false}, {1, shutdownSlack * 5 / 2, false}} {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			a, _, err := openArchive(&Persist{Directory: dir, Session: "s"}, Limits{}.withDefaults(true), slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			for i := range c.drops {
				j := withParts(&actor{})
				j.folder = a.folder(ID(i + 1))
				a.put(errand{what: errandDrop, id: j.id, job: &j.files, then: func(error) { time.Sleep(c.each) }}) // in fake time
			}
			began := time.Now()
			got := a.close()
			if took := time.Since(began); got != c.want || c.want && took != time.Duration(c.drops)*c.each {
				t.Errorf("%d deletions of %v each: ended %v after %v, want %v", c.drops, c.each, got, took, c.want)
			}
			<-a.done
		})
	}
}
