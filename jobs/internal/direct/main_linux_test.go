package direct

import (
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"shelld.dev/shelld/jobs/internal/keeper"
)

// watchdog is the timeout of operations that take milliseconds.
const watchdog = 30 * time.Second

// TestMain proves that the tests left no goroutine and no descriptor.
func TestMain(m *testing.M) {
	before := openFiles()
	code := m.Run()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, "goroutines are left:", err)
			code = 1
		}
		for fd, link := range openFiles() {
			if before[fd] == "" && link != "anon_inode:[eventpoll]" && link != "anon_inode:[eventfd]" {
				fmt.Fprintln(os.Stderr, "a descriptor is left:", fd, link)
				code = 1
			}
		}
	}
	os.Exit(code)
}

func openFiles() map[string]string {
	files := make(map[string]string)
	entries, _ := os.ReadDir("/proc/self/fd")
	for _, e := range entries {
		if link, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil {
			files[e.Name()] = link
		}
	}
	return files
}

// next returns the next event of a job, which must be of this kind.
func next(t *testing.T, j *Job, kind keeper.Kind) keeper.Event {
	t.Helper()
	select {
	case e, ok := <-j.Events():
		if !ok || e.Kind != kind {
			t.Fatalf("event %+v (%v), want %v", e, ok, kind)
		}
		return e
	case <-time.After(watchdog):
		t.Fatalf("no %v comes", kind)
	}
	panic("unreachable")
}

// over waits until nothing of a job is left, and returns the events until then.
func over(t *testing.T, j *Job) (all []keeper.Event) {
	t.Helper()
	late := time.After(watchdog)
	for {
		select {
		case e, ok := <-j.Events():
			if !ok {
				if len(all) == 0 || all[len(all)-1].Kind != keeper.Empty {
					t.Errorf("the events do not end with Empty: %+v", all)
				}
				return all
			}
			all = append(all, e)
		case <-late:
			t.Fatalf("the job does not end: %+v", all)
		}
	}
}

// event returns the one event of a kind.
func event(t *testing.T, all []keeper.Event, kind keeper.Kind) keeper.Event {
	t.Helper()
	var found []keeper.Event
	for _, e := range all {
		if e.Kind == kind {
			found = append(found, e)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d events %v among %+v", len(found), kind, all)
	}
	return found[0]
}
