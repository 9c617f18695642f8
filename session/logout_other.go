//go:build !linux

package session

// AfterLogout returns false: on this system it is not known.
func AfterLogout() (Logout, bool) { return Logout{}, false }
