package conformance

import "flag"

// long is set by go test ./conformance -long; see docs/architecture.md.
var long = flag.Bool("long", false, "run the long forms of the tests")

// sample is one of so many sessions, in one framing, and the next in the other where it has both:
// what a session shows does not depend on how messages are framed. With -long it is all.
func sample(sessions []*Session, of int) (some []*Session) {
	if *long {
		return sessions
	}
	for i := 0; i < len(sessions); i += of {
		s := *sessions[i]
		if n := i / of; len(s.Framings) > 1 {
			s.Framings = s.Framings[n%2 : n%2+1]
		}
		some = append(some, &s)
	}
	return some
}
