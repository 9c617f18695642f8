package spool

import "io"

// hasHole says whether the file has a hole of at least a block: it was cut, and made longer again. A file system
// that tells of no holes has its first one at the end of the file.
func (o *output) hasHole() bool {
	const seekHole = 4
	at, err := o.file.Seek(0, seekHole)
	if err != nil || at >= o.length {
		return false
	}
	size, err := o.file.Seek(0, io.SeekEnd)
	return err == nil && at < size // Else it was cut, and nothing was written behind that.
}
