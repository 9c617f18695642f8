//go:build linux || darwin

package session

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// New makes the directory of a new session. It returns the name.
func (d *Directory) New() (name string, err error) {
	if d, err = d.make(); err != nil {
		return "", err
	}
	for {
		var random [5]byte
		_, _ = rand.Read(random[:]) // Never fails; see crypto/rand.
		name = "s-" + hex.EncodeToString(random[:])
		switch err := os.Mkdir(filepath.Join(d.path, name), 0o700); {
		case err == nil:
			return name, nil
		case !errors.Is(err, fs.ErrExist):
			return "", d.cannot(err)
		}
	}
}
