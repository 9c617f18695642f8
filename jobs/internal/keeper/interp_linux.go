package keeper

import (
	"bytes"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// missingInterpreter explains ENOENT for a file that exists: it returns the interpreter that the file names and that
// does not exist. For any other cause it returns "".
func missingInterpreter(path, dir string) string {
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	// Opening must not block, whatever the file is now.
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		return ""
	}
	interpreter := namedInterpreter(f)
	if interpreter == "" {
		return ""
	}
	at := interpreter
	if !filepath.IsAbs(at) {
		at = filepath.Join(dir, at)
	}
	if _, err := os.Stat(at); !os.IsNotExist(err) {
		return ""
	}
	return interpreter
}

// namedInterpreter returns the interpreter of the #! line, or the program interpreter of an ELF file.
func namedInterpreter(f *os.File) string {
	head := make([]byte, 256) // as much as the kernel looks at
	n, _ := f.ReadAt(head, 0)
	head = head[:n]
	if rest, ok := bytes.CutPrefix(head, []byte("#!")); ok {
		line, _, _ := strings.Cut(string(rest), "\n")
		if fields := strings.Fields(line); len(fields) > 0 {
			return strings.TrimRight(fields[0], "\x00")
		}
		return ""
	}
	return elfInterpreter(f, head)
}

// elfInterpreter reads the program header PT_INTERP. The package debug/elf could do it as well, but takes 30 KiB of
// memory in every keeper for sections that are not used.
func elfInterpreter(f io.ReaderAt, head []byte) string {
	const class64, bigEndian, interp = 2, 2, 3
	if len(head) < 64 || string(head[:4]) != "\x7fELF" {
		return ""
	}
	var order binary.ByteOrder = binary.LittleEndian
	if head[5] == bigEndian {
		order = binary.BigEndian
	}
	wide := head[4] == class64
	word := func(b []byte, narrow, at int) int64 { // an offset or a size, at one of two places
		if wide {
			return int64(order.Uint64(b[at:]))
		}
		return int64(order.Uint32(b[narrow:]))
	}
	table, entry, count := word(head, 28, 32), order.Uint16(head[42:]), order.Uint16(head[44:])
	if wide {
		entry, count = order.Uint16(head[54:]), order.Uint16(head[56:])
	}
	header := make([]byte, max(int(entry), 56))
	for i := range int64(count) {
		if _, err := f.ReadAt(header[:entry], table+i*int64(entry)); err != nil {
			return ""
		}
		if order.Uint32(header) == interp {
			name := make([]byte, min(max(word(header, 16, 32), 0), unix.PathMax))
			n, _ := f.ReadAt(name, word(header, 4, 8))
			return string(bytes.TrimRight(name[:n], "\x00"))
		}
	}
	return ""
}
