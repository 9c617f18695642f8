//go:build !race

package match

// slowdown is how much longer than usual things may take in this build.
const slowdown = 1
