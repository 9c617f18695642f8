// Package screen knows what a terminal is told and what its keys send. [Encode] is a
// pure function of key names and terminal modes; a [Scanner] reads a terminal's
// output for its modes, its title, what it asks and the like, and draws nothing. It
// starts no goroutine.
package screen
