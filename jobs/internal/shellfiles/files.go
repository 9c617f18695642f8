// Package shellfiles makes the files between a server and an interactive shell: the directory of the shell's start-up
// files, the pipe from which the shell reads commands, and the memory to which it writes its answers. The shell opens
// the pipe and the memory by their paths.
package shellfiles

import (
	"io"
	"os"
	"sync"
	"time"
)

// Files are the files of one shell. The start-up files in Dir are the caller's to write.
type Files struct {
	Dir         string   // of the start-up files; removed as soon as the shell has read them
	Write       *os.File // the end of the pipe that the server writes to
	Read        *os.File // the end that the server drains; the shell opens one of its own
	CommandPath string   // the path by which the shell opens the pipe
	ScratchPath string   // the path by which it opens the memory

	held    *os.File // Dir, locked
	scratch *os.File
	once    sync.Once
}

// Make makes the files. The caller closes them.
func Make() (*Files, error) {
	f := &Files{}
	if err := f.makePlace(); err != nil {
		return nil, err
	}
	if err := f.open(); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Forget removes the start-up files. The shell reads them only once, and they show the format of the marks.
func (f *Files) Forget() {
	f.once.Do(func() {
		_ = os.RemoveAll(f.Dir) // Best effort: the next server removes them (Sweep).
		if f.held != nil {
			_ = f.held.Close() // Nothing was written, so an error does not matter.
		}
	})
}

// Close removes the files. It may be called more than once.
func (f *Files) Close() {
	f.Forget()
	for _, file := range []*os.File{f.Read, f.Write, f.scratch} {
		if file != nil {
			_ = file.Close() // No data can be lost by an error here.
		}
	}
}

// TakeScratch returns the data that the shell has written to the scratch memory, at most limit bytes, and discards it
// there.
func (f *Files) TakeScratch(limit int64) ([]byte, error) {
	text, err := io.ReadAll(io.NewSectionReader(f.scratch, 0, limit))
	if err == nil {
		err = f.scratch.Truncate(0)
	}
	return text, err
}

// DropScratch discards data that the shell has written to the scratch memory and that was not read.
func (f *Files) DropScratch() {
	_ = f.scratch.Truncate(0) // It fails if the file is closed, and then no data is kept either.
}

// StopWrite makes a write into the pipe fail. This also holds for later writes, until Drain is called.
func (f *Files) StopWrite() {
	_ = f.Write.SetWriteDeadline(time.Unix(1, 0)) // It fails if the pipe is closed, and then the write fails, too.
}

// Drain removes the data that the shell has not read from the pipe, and returns their length. There must be no
// concurrent write.
func (f *Files) Drain() (all int64) {
	b := make([]byte, 64<<10)
	for {
		n, err := readNow(f.Read, b)
		if n <= 0 || err != nil {
			break
		}
		all += int64(n)
	}
	clear(b)
	_ = f.Write.SetWriteDeadline(time.Time{}) // An error does not matter, as in StopWrite.
	return all
}
