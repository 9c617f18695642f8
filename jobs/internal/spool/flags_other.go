//go:build !unix

package spool

import "os"

// readFlags opens a stored file again. There is no flag here against links; what
// was opened is compared with what was stored.
const readFlags = os.O_RDONLY

// replacesOpen says whether a file can be replaced while somebody has it open.
const replacesOpen = false
