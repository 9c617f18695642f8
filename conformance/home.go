package conformance

import (
	"os"
	"path/filepath"
	"time"
)

// A home is the empty directory in which the servers of one session are started. It is also their HOME, and holds their
// state.
type home struct {
	dir     string
	began   time.Time
	orphans bool // this process adopts what the servers leave behind
	dialed  int  // number of connections
}

func (h *home) state() string { return filepath.Join(h.dir, "state") }

func newHome(orphans bool) (*home, error) {
	dir, err := os.MkdirTemp("", "conformance-")
	if err != nil {
		return nil, err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil { // macOS: /var is a symbolic link
		return nil, err
	}
	h := &home{dir: dir, began: time.Now(), orphans: orphans}
	dialed.Lock()
	defer dialed.Unlock()
	dialed.homes[h] = true
	homeBegins(dir)
	return h, nil
}

// release kills the orphans that this process has adopted of the home's servers (Linux), and removes the directory.
func (h *home) release() {
	if h.orphans {
		killOrphans(h.dir)
	}
	homeEnds(h.dir)
	dialed.Lock()
	delete(dialed.homes, h)
	dialed.Unlock()
	_ = os.RemoveAll(h.dir) // Best effort: files that a job still writes there are the job's fault.
}

// awaitEmpty waits until nothing is left that the home's servers have started, and returns the processes that are. It
// polls, since the processes may be children of each other.
func (h *home) awaitEmpty(patience time.Duration) (left []int) {
	if !h.orphans {
		return nil
	}
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for deadline := time.Now().Add(patience); ; <-look.C {
		if left = adopted(h.dir); len(left) == 0 || time.Now().After(deadline) {
			return left
		}
	}
}
