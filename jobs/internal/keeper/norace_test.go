//go:build !race

package keeper_test

// runs returns how many of n repetitions to run.
func runs(n int) int { return n }

// many returns how many of n repetitions to run if they take seconds: all of them with -ci.
func many(n int) int {
	if *inCI {
		return n
	}
	return n / 4
}
