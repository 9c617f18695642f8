//go:build !race

package keeper_test

// runs is how many of n repetitions are made.
func runs(n int) int { return n }

// many is how many of n repetitions are made where they take seconds: all of them with -ci.
func many(n int) int {
	if *inCI {
		return n
	}
	return n / 4
}
