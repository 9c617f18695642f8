package screen

import options "flag" // The package has a flag of its own.

var (
	caseName  = options.String("case", "", "run the cases of the corpora alone whose name this `regexp` matches, and tell all of their steps")
	update    = options.Bool("update", false, "add the cases of the corpora that pass now to the baseline")
	sequences = options.Int("sequences", 100_000, "how many sequences the grammar writes to terminals; the long form is 50 million")
	seed      = options.Uint64("seed", 1, "where the grammar begins")
)
