package conformance

// The fake server and the process helpers, exported for the tests of package record, which imports this package.
const FaultVar = faultVar

var (
	Play           = play
	LoadedContract = contract
	AdoptOrphans   = adoptOrphans
	Children       = children
)
