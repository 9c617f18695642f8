//go:build race

package match

// slowdown is how much longer than usual things may take in this build: a pattern that is fast
// enough is not to fail for being watched by the race detector.
const slowdown = 10
