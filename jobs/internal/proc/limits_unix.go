//go:build !windows

package proc

// MaxVariable is the maximum size of a variable in bytes: its name, "=", its value and the NUL behind it. It is Linux's
// limit for one variable; other systems have about the same limit for the whole environment.
const MaxVariable = 128 << 10
