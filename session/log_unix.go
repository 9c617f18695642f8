//go:build linux || darwin

package session

import (
	"errors"
	"io/fs"
	"os"
	"sync"
)

// maxLog is the maximum size of host.log and host.log.1 together.
const maxLog = 1 << 20

// A boundedLog writes to stderr, which is host.log. When that has half of the maximum size, it becomes host.log.1, and
// stderr a new file.
type boundedLog struct {
	folder *folder

	mu   sync.Mutex
	size int64
}

func newBoundedLog(f *folder) *boundedLog {
	l := &boundedLog{folder: f}
	if info, err := os.Stderr.Stat(); err == nil {
		l.size = info.Size()
	}
	return l
}

// Write implements [io.Writer].
func (l *boundedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.size+int64(len(p)) > maxLog/2 {
		if err := l.rotate(); err != nil {
			return 0, err // The log must stay bounded.
		}
	}
	n, err := os.Stderr.Write(p[:min(len(p), maxLog/2)])
	l.size += int64(n)
	if err == nil {
		n = len(p)
	}
	return n, err
}

func (l *boundedLog) rotate() error {
	if err := l.folder.root.Rename(logFile, oldLogFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := l.folder.root.OpenFile(logFile, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	l.size = 0
	return redirect(f)
}
