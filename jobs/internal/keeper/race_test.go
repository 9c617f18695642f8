//go:build race

package keeper_test

// runs is how many of n repetitions are made: a keeper takes ten times as long to
// start under the race detector.
func runs(n int) int { return n / 10 }

// many is runs.
func many(n int) int { return runs(n) }
