//go:build unix

package safedir

import (
	"os"
	"testing"
)

func TestOurs(t *testing.T) {
	dir := t.TempDir()
	info, err := os.Stat(dir)
	if err != nil || !Ours(info) {
		t.Fatalf("a directory of our own: %v", err)
	}
	if os.Geteuid() != 0 {
		t.Skip("only root can give a directory away")
	}
	if err := os.Chown(dir, 12345, -1); err != nil {
		t.Fatal(err)
	}
	if info, err = os.Stat(dir); err != nil || Ours(info) {
		t.Errorf("somebody else's directory: %v", err)
	}
}
