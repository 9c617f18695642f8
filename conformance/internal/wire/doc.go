// Package wire reads and writes protocol messages: frames, envelopes, JSON values whose numbers keep their
// spelling, and output.
package wire
