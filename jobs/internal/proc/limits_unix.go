//go:build !windows

package proc

// MaxVariable is how many bytes a variable may have: its name, "=", its value and the NUL
// behind it. Linux takes no more in one; other systems take about as much in all.
const MaxVariable = 128 << 10
