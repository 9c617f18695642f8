package jobs

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"shelld.dev/shelld/jobs/internal/store"
	"shelld.dev/shelld/jobs/stored"
)

// If there were no descriptors at the end of a job, its final info.json is written when there are some again, even
// without any other request to the server.
func TestEndIsWrittenWhenThereAreDescriptors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var short atomic.Bool
		f, path := startRecorded(t, &recorder{}, Limits{}, func(m *Manager) {
			encode := m.settings.archive.encode
			m.settings.archive.encode = func(i Info) ([]byte, error) {
				if short.Load() {
					return nil, &fs.PathError{Op: "open", Path: "/there/info.json", Err: syscall.EMFILE}
				}
				return encode(i)
			}
		})
		f.emits("0123456789")
		short.Store(true)
		f.proc.exit(7)
		f.proc.gone()
		<-f.ended
		time.Sleep(10 * recordTime) // in fake time
		short.Store(false)
		time.Sleep(2 * recordTime)
		synctest.Wait()
		text, err := os.ReadFile(strings.TrimSuffix(path, stored.RecordingFile) + stored.InfoFile)
		if err != nil || !strings.HasPrefix(string(text), "1 closed pty 10") { // in the format of these tests
			t.Errorf("written is %s, %v", text, err)
		}
		f.finish()
	})
}

// If a recording cannot be created for lack of descriptors, it is created when there are some, with the output of the
// time before. If the job ends first, that is reported.
func TestRecordingWaitsForDescriptors(t *testing.T) {
	for _, enough := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			var short atomic.Bool
			short.Store(true)
			f, path := startRecorded(t, &recorder{}, Limits{}, func(m *Manager) {
				m.system.createRecording = func(in *store.Folder) (recordingDisk, error) {
					if short.Load() {
						return nil, &fs.PathError{Op: "open", Path: "/there/session.cast", Err: syscall.EMFILE}
					}
					return createRecording(in)
				}
			})
			f.emits("while there are none")
			time.Sleep(10 * recordTime) // in fake time
			short.Store(!enough)
			f.proc.exit(0)
			f.proc.gone()
			<-f.ended
			info := must(t, f.Info())
			text, err := os.ReadFile(path)
			switch {
			case enough && (err != nil || info.OutputFileError != "" || !strings.Contains(string(text), "while there are none")):
				t.Errorf("recorded is %s, %v, told %q", text, err, info.OutputFileError)
			case !enough && (!errors.Is(err, fs.ErrNotExist) || info.OutputFileError != syscall.EMFILE.Error()):
				t.Errorf("without descriptors recorded is %s, %v, told %q", text, err, info.OutputFileError)
			}
			f.finish()
		})
	}
}
