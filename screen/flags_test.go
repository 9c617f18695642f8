package screen

import (
	"flag"
	"testing"
)

var (
	caseName  = flag.String("case", "", "run the cases of the corpora alone whose name this `regexp` matches, and tell all of their steps")
	update    = flag.Bool("update", false, "add the cases of the corpora that pass now to the baseline")
	sequences = flag.Int("sequences", 100_000, "how many sequences the grammar writes to terminals; the long form is 50 million")
	seed      = flag.Uint64("seed", 1, "where the grammar begins")
	writeTime = flag.Duration("writetime", 0, "how long a write of at most 4 KiB may take, 50ms on a machine that does nothing else; 0: as long as it likes")
)

// fewer returns the number of rounds that a test makes: a tenth with -short, since the race detector makes each take
// several times as long and one goroutine does all the work.
func fewer(rounds int) int {
	if testing.Short() {
		return max(rounds/10, 1)
	}
	return rounds
}
