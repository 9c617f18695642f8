package inputwait_test

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"shelld.dev/shelld/jobs/internal/inputwait"
)

// A file system whose daemon does not answer, like that of an unreachable NFS server, must not block a probe: only the
// job depends on it.
func TestFileThatDoesNotAnswer(t *testing.T) {
	started := func(t *testing.T, code string) *job {
		file, release := unanswered(t)
		const open = "import os, select, sys\nf = os.open(sys.argv[1], os.O_RDONLY); r, w = os.pipe(); os.dup2(w, 90); os.close(w); print('ready', flush=True)\n"
		j := onTerminal(t, "python3", "-c", open+code, file)
		t.Cleanup(release) // before the test waits for the job
		watch := time.AfterFunc(deadline, func() {
			t.Error("a look waits for the file system")
			release()
		})
		t.Cleanup(func() { watch.Stop() })
		return j
	}
	t.Run("and is read", func(t *testing.T) {
		j := started(t, "os.read(f, 1)")
		j.await("blocked on the file", func(v inputwait.Verdict) bool {
			return j.printed() != "" && strings.HasPrefix(v.Why, "no process is blocked")
		})
	})
	t.Run("and is open", func(t *testing.T) {
		// The other end of the pipe is searched for among all open files.
		started(t, "select.select([0, r], [], [])").waits("ready", reading, line, exact)
	})
}

// unanswered creates a file in a file system that answers the opening, and no other request.
func unanswered(t *testing.T) (path string, release func()) {
	t.Helper()
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Skipf("no file system can be made: /dev/fuse: %v", err)
	}
	path = filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	options := fmt.Sprintf("fd=%d,rootmode=100600,user_id=%d,group_id=%d", fd, os.Getuid(), os.Getgid())
	if err := unix.Mount("test", path, "fuse", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		_ = unix.Close(fd)
		t.Skipf("no file system can be mounted: %v", err)
	}
	device := os.NewFile(uintptr(fd), "/dev/fuse") // only now, so that reads can wait
	var served sync.WaitGroup
	served.Go(func() { serve(device) })
	return path, sync.OnceFunc(func() {
		_ = device.Close() // which ends all pending requests
		served.Wait()
		if err := unix.Unmount(path, unix.MNT_DETACH); err != nil {
			t.Errorf("unmount %s: %v", path, err)
		}
	})
}

// serve answers the requests for mounting, opening and closing; see linux/fuse.h.
func serve(device *os.File) {
	const open, flush, release, start = 14, 25, 18, 26
	e := binary.NativeEndian
	for request := make([]byte, 1<<17); ; {
		n, err := device.Read(request)
		if err != nil || n < 40 {
			return
		}
		var body []byte
		switch e.Uint32(request[4:]) {
		case start:
			body = make([]byte, 64)
			e.PutUint32(body, 7)
			e.PutUint32(body[4:], 31)
			e.PutUint32(body[20:], 1<<16) // max_write: the maximum size of a write
		case open:
			body = make([]byte, 16)
		case flush, release:
		default:
			continue
		}
		answer := e.AppendUint32(nil, uint32(16+len(body)))
		answer = append(e.AppendUint32(answer, 0), request[8:16]...)
		if _, err := device.Write(append(answer, body...)); err != nil {
			return
		}
	}
}

// Kernels before 4.11 show as much, except for files with a name in a file system.
func TestOldKernel(t *testing.T) {
	for _, test := range []struct {
		name, code string
		state      inputwait.State
		confidence inputwait.Confidence
	}{
		{"terminal", "sys.stdin.readline()", reading, exact},
		{"/dev/tty", "select.select([os.open('/dev/tty', os.O_RDONLY)], [], [])", reading, exact},
		{"its own", "r, w = os.pipe(); select.select([0, r, os.eventfd(0)], [], [])", reading, exact},
		{"a socket", "a = socket.create_server(('127.0.0.1', 0)); select.select([0, a], [], [])", listening, likely},
		{"a fifo with a name", "n = tempfile.mktemp(); os.mkfifo(n); f = os.open(n, os.O_RDWR); os.unlink(n); select.select([0, f], [], [])", listening, likely},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			j := onTerminal(t, "python3", "-c", "import os, select, socket, sys, tempfile\nprint('ready', flush=True)\n"+test.code)
			inputwait.Old(j.prober)
			j.waits("ready", test.state, line, test.confidence)
		})
	}
}
