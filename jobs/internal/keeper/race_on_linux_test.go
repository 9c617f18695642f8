//go:build race

package keeper_test

// raced reports that the race detector is on: it maps more memory than a memory limit may leave, and its runtime ends a
// limiter that is built with it.
const raced = true
