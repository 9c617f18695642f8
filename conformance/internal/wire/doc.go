// Package wire reads and writes messages as they go over the wire: frames, envelopes, JSON values as numbers that keep their
// spelling, output.
package wire
