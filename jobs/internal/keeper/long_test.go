package keeper_test

import "flag"

// inCI is set by go test ./jobs/internal/keeper -ci, which .ci/run does.
var inCI = flag.Bool("ci", false, "run as much of the tests as .ci/run does")
