package main

import (
	"flag"
	"testing"
)

// long is set by go test ./cmd/shelld -long; see docs/architecture.md.
var long = flag.Bool("long", false, "run the long forms of the tests")

// inCI is set by go test ./cmd/shelld -ci, which .ci/run uses.
var inCI = flag.Bool("ci", false, "run as much of the tests as .ci/run does")

// scaled returns an amount for a test: all with -long, short with -short or under the race detector, otherwise usual.
func scaled(all, usual, short int) int {
	switch {
	case *long:
		return all
	case testing.Short() || raceDetector:
		return short
	}
	return usual
}
