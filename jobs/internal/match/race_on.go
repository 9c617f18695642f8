//go:build race

package match

// slowdown is the factor by which time limits are longer in this build: a pattern that is fast enough must not fail
// because of the race detector.
const slowdown = 10
