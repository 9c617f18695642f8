//go:build race

package keeper_test

// runs returns how many of n repetitions to run: a keeper takes ten times as long to start under the race detector.
func runs(n int) int { return n / 10 }

// many is the same as runs.
func many(n int) int { return runs(n) }
