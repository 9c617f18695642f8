package probe

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// scarce is the free space, in bytes, below which a warning is given: less than a few large outputs.
const scarce = 1 << 30

// Directory reports whether files can be created in a directory. If the directory does not exist yet, its nearest
// existing ancestor is tested. The test directory is removed at once.
func Directory(dir string) Finding {
	base, exists, err := nearest(dir)
	facts := map[string]any{"path": dir, "exists": exists}
	f := Finding{Grade: OK, Found: dir, Facts: facts}
	if !exists {
		f.Found += ", which does not exist yet"
	}
	if err == nil {
		err = mayMake(base)
	}
	facts["writable"] = err == nil
	if err != nil {
		f.Grade, f.Reason = Limited, fmt.Sprintf("nothing can be created in %s: %v", base, err)
		f.Advice = "set XDG_STATE_HOME to a directory of yours: otherwise output is kept only in memory"
		return f
	}
	if free, err := freeBytes(base); err == nil {
		facts["freeBytes"] = free
		f.Found += fmt.Sprintf("; %s free", size(free))
		if free < scarce {
			f.Grade, f.Reason = Limited, "there is little room for output files"
			f.Advice = "make room, or set XDG_STATE_HOME to a directory on another file system"
		}
	}
	return f
}

// nearest returns the directory itself, or its nearest ancestor that exists.
func nearest(dir string) (base string, exists bool, err error) {
	for base = dir; ; base = filepath.Dir(base) {
		fi, err := os.Stat(base)
		switch {
		case err == nil && !fi.IsDir():
			return base, false, errors.New("it is not a directory")
		case err == nil:
			return base, base == dir, nil
		case !errors.Is(err, fs.ErrNotExist) || base == filepath.Dir(base):
			return base, false, err
		}
	}
}

func size(n uint64) string {
	for _, unit := range []struct {
		bytes uint64
		name  string
	}{{1 << 40, "TiB"}, {1 << 30, "GiB"}, {1 << 20, "MiB"}} {
		if n >= unit.bytes {
			return fmt.Sprintf("%.1f %s", float64(n)/float64(unit.bytes), unit.name)
		}
	}
	return fmt.Sprintf("%d KiB", n>>10)
}

// mayMake creates a directory and removes it. Checking the permission is not enough: on some file systems, such as that
// of /proc, the superuser has write permission but cannot create files.
func mayMake(dir string) error {
	made, err := os.MkdirTemp(dir, ".shelld-doctor-")
	if err == nil {
		err = os.Remove(made)
	}
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err
	}
	return err
}
