//go:build linux || darwin

package probe

import "golang.org/x/sys/unix"

// OSVersion returns the version of the system's kernel; "" = not known.
func OSVersion() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return ""
	}
	return unix.ByteSliceToString(u.Release[:])
}
