package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// If a living server replaces a file while it is being opened, the new file is read. If it is replaced by something
// that no server writes, it is refused, and a link is not followed.
func TestReplacedWhileItIsOpened(t *testing.T) {
	for _, c := range []struct {
		name    string
		replace func(t *testing.T, server *Folder, path string, look int)
		want    string // the content read; "": see wantErr
		wantErr func(error) bool
	}{
		{"by its server", func(t *testing.T, server *Folder, _ string, look int) {
			if look <= 3 {
				replace(t, server, "new")
			}
		}, "new", nil},
		{"by a link", func(t *testing.T, _ *Folder, path string, _ int) {
			swap(t, path, func(scrap string) { link(t, filepath.Join(filepath.Dir(path), "stdout.txt"), scrap) })
		}, "", IsForeign},
		{"by a directory", func(t *testing.T, _ *Folder, path string, _ int) {
			if err := errors.Join(os.RemoveAll(path), os.Mkdir(path, 0o700)); err != nil {
				t.Fatal(err)
			}
		}, "", IsForeign},
		{"by nothing", func(t *testing.T, _ *Folder, path string, _ int) {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}, "", func(err error) bool { return errors.Is(err, fs.ErrNotExist) }},
		{"again and again", func(t *testing.T, server *Folder, _ string, _ int) { replace(t, server, "new") }, "",
			func(err error) bool { return errors.Is(err, errRestless) && strings.Contains(err.Error(), "info.json") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			state := t.TempDir()
			s := hold(t, state, oneSession, false)
			defer die(t, s)
			server := s.Folder("1")
			replace(t, server, "old")
			folder := filepath.Join(state, oneSession, "1")
			write(t, filepath.Join(folder, "stdout.txt"), "precious")
			f, err := session(t, past(t, state), oneSession).Folder(1)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			look := 0
			f.looked = func() {
				look++
				c.replace(t, server, filepath.Join(folder, "info.json"), look)
			}
			got, err := f.Read("info.json")
			if c.wantErr == nil && (err != nil || string(got) != c.want) || c.wantErr != nil && (err == nil || !c.wantErr(err)) {
				t.Errorf("after %d looks: %q, %v", look, got, err)
			}
		})
	}
}

func replace(t *testing.T, server *Folder, text string) {
	t.Helper()
	if err := server.Replace("info.json", []byte(text)); err != nil {
		t.Fatal(err)
	}
}

// swap replaces a file by one that make creates at another path, as an attacker might.
func swap(t *testing.T, path string, make func(scrap string)) {
	t.Helper()
	scrap := path + ".swap"
	make(scrap)
	if err := os.Rename(scrap, path); err != nil {
		t.Fatal(err)
	}
}
