// Package screen knows what a terminal shows and what its keys send. So far it
// encodes keys: [Encode] is a pure function of key names and terminal modes. It
// starts no goroutine.
package screen
