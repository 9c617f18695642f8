package spool

import "io"

// hasHole reports whether the file has a hole of at least one block, because it was truncated and extended again. A
// file system without support for holes reports the first one at the end of the file.
func (o *output) hasHole() bool {
	const seekHole = 4
	at, err := o.file.Seek(0, seekHole)
	if err != nil || at >= o.length {
		return false
	}
	size, err := o.file.Seek(0, io.SeekEnd)
	return err == nil && at < size // Otherwise the file was truncated, and nothing was written after that.
}
