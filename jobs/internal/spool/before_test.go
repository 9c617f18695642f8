package spool

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestReadBefore(t *testing.T) {
	s := New(256 << 10)
	all := bytes.Repeat([]byte("0123456789abcdef"), 64<<10)
	s.Append(all)
	_, gaps := s.ReadRange(0, s.End())
	gap := gaps[0]
	for off, want := range map[int64]int64{0: 0, 20: 20, 100: 64, gap.From: 64, gap.From + 1: 0, gap.To: 0, gap.To + 10: 10, gap.To + 100: 64, s.End(): 64} {
		if b := s.ReadBefore(64, off); !bytes.Equal(b, all[off-want:off]) {
			t.Errorf("before %d, with %v missing: %q, want %d bytes", off, gap, b, want)
		}
	}
}

func TestReadBeforeFromADisk(t *testing.T) {
	file := filepath.Join(t.TempDir(), "out")
	s := Open(Options{Memory: 4, Create: func() (*os.File, error) { return os.Create(file) }, DiskHead: 100, DiskTail: 100})
	defer func() { _ = s.Close() }()
	s.Append([]byte("0123456789"))
	for off, want := range map[int64]string{10: "6789", 7: "6", 6: "012345", 3: "012"} {
		if b := s.ReadBefore(100, off); string(b) != want {
			t.Errorf("before %d: %q, want %q", off, b, want)
		}
	}
}
