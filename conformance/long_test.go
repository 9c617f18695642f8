package conformance

import (
	"flag"
)

// long is set by go test ./conformance -long; see docs/architecture.md.
var long = flag.Bool("long", false, "run the long forms of the tests")

// inCI is set by go test ./conformance -ci, which .ci/run uses: it runs more than by default, and less than
// -long.
var inCI = flag.Bool("ci", false, "run as much of the tests as .ci/run does")

// usually returns by which factor the tests try something less often than with -ci.
func usually(times int) int {
	if *inCI {
		return 1
	}
	return times
}

// sample returns every of-th session, and half as many without -ci. Each session runs in one framing, alternating
// if it has both, since the result does not depend on the framing. With -long it returns all.
func sample(sessions []*Session, of int) (some []*Session) {
	if *long {
		return sessions
	}
	of *= usually(2)
	for i := 0; i < len(sessions); i += of {
		s := *sessions[i]
		if n := i / of; len(s.Framings) > 1 {
			s.Framings = s.Framings[n%2 : n%2+1]
		}
		some = append(some, &s)
	}
	return some
}
