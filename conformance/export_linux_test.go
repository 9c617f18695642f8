package conformance

// The fake server and what looks at processes, for the tests of package record, which imports this one.
const FaultVar = faultVar

var (
	Play           = play
	LoadedContract = contract
	AdoptOrphans   = adoptOrphans
	Children       = children
)
