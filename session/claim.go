package session

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"shelld.dev/shelld/internal/safedir"
)

// claimPrefix begins the names of the files that clients claim.
const claimPrefix = "claim-"

// A Claim is a file in the directory of a session that belongs to one process, until that closes it or ends. The next
// process that claims one of this kind gets the file as it was left: so a client that was killed and started again alone
// is the same client; several may change places. The file is deleted with the directory, which a host that ends leaves
// if a claim is to be kept.
type Claim struct {
	*os.File
	Number int // 1 or more; no two claims of a kind have the same at a time
}

// Claim claims the file with the lowest number that no process has claimed. The session must have a directory.
func (d *Directory) Claim(session, kind string) (*Claim, error) {
	f, err := d.folder(session)
	if err != nil {
		return nil, err
	}
	defer f.close()
	for n := 1; ; n++ {
		name := fmt.Sprintf("%s%s-%d", claimPrefix, kind, n)
		file, err := f.open(name)
		if err != nil {
			return nil, err
		}
		if err = safedir.Lock(file, safedir.Exclusive); err == nil && !f.holds(name, file) {
			err = errSwept
		}
		if err == nil {
			return &Claim{file, n}, nil
		}
		_ = file.Close() // Nothing was written to it.
		if !errors.Is(err, safedir.ErrLocked) {
			return nil, f.absolute(err, name)
		}
	}
}

// Claims returns the paths of all claims of a kind, those of ended processes too.
func (d *Directory) Claims(session, kind string) (paths []string, err error) {
	f, err := d.folder(session)
	if err != nil {
		return nil, err
	}
	defer f.close()
	names, err := f.claims(kind)
	for _, name := range names {
		paths = append(paths, filepath.Join(f.path, name))
	}
	return paths, err
}

// keepMode is the permission that marks the file of a claim that is to be kept. So no content is reserved for it.
const keepMode = 0o100

// Keep sets whether the claim is to be kept when the session ends, until the next session of this name, or prune. It is
// set until it is changed, by the next owner of the claim too.
func (c *Claim) Keep(keep bool) error {
	mode := fs.FileMode(0o600)
	if keep {
		mode |= keepMode
	}
	return c.Chmod(mode)
}

// keepsClaim reports whether a claim in the directory is to be kept.
func (f *folder) keepsClaim() bool {
	names, _ := f.claims("*") // The pattern is valid.
	for _, name := range names {
		if info, err := f.root.Lstat(name); err == nil && info.Mode()&keepMode != 0 {
			return true
		}
	}
	return false
}

// InPlace reports whether the claim counts: its file is still in the directory of the session.
func (c *Claim) InPlace() bool {
	mine, err := c.Stat()
	if err != nil {
		return false
	}
	now, err := os.Lstat(c.Name())
	return err == nil && os.SameFile(mine, now)
}

// claims returns the names of the claims of a kind in the directory; "*": of all kinds.
func (f *folder) claims(kind string) ([]string, error) {
	return fs.Glob(f.root.FS(), claimPrefix+kind+"-*")
}
