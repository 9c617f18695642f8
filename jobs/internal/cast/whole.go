package cast

import (
	"bytes"
	"io"
)

// Whole returns the length of the whole lines at the beginning of a recording: a killed writer may have left an
// incomplete last line.
func Whole(file io.ReaderAt, size int64) (int64, error) {
	buf := make([]byte, min(size, flushBytes))
	for end := size; end > 0; {
		b := buf[:min(end, int64(len(buf)))]
		end -= int64(len(b))
		if n, err := file.ReadAt(b, end); n < len(b) {
			return 0, err
		}
		if i := bytes.LastIndexByte(b, '\n'); i >= 0 {
			return end + int64(i) + 1, nil
		}
	}
	return 0, nil
}
