//go:build !race

package keeper_test

// runs is how many of n repetitions are made.
func runs(n int) int { return n }
