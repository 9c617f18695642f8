//go:build !unix

package spool

import "os"

// readFlags are for reopening a stored file. There is no flag against links here; the opened file is compared with the
// stored one instead.
const readFlags = os.O_RDONLY

// replacesOpen reports whether a file can be replaced while it is open.
const replacesOpen = false
