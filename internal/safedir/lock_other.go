//go:build !linux && !darwin && !windows

package safedir

import "os"

// Lock returns ErrNoLocks. So on other systems it is never known whether a server is dead, and no session is tidied up.
func Lock(*os.File, LockMode) error { return ErrNoLocks }
