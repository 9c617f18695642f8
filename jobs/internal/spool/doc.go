// Package spool stores the output of one stream by absolute offset.
//
// A Spool has one appender and any number of readers. Offsets count from 0 at
// the stream's first byte and are never reused, so that a reader is nothing but
// an offset: a slow one costs an integer, not a copy of what it has not read.
//
// # What is kept
//
// What is kept is bounded. The first bytes are kept for good, since the beginning
// of a long output is what explains it; the rest of the room holds the newest.
// What falls between them is gone, and Read and Kept say so exactly.
//
// A spool from [New] is in memory alone. One from [Open] has a file as well, as a rule
// made with its first byte, and the newest bytes in memory beside it, where nearly
// every reader is. A byte is in
// the file before End tells of it, so that a server that dies has lost nothing
// that anybody was sent. The file is not synced: that is about the server's death,
// not the machine's.
//
// # The file
//
// While the stream goes on, the file grows byte for byte like the stream until its
// room is used up: by its own limit, or because the [Budget] that all spools share
// is. Only then is the room divided, into the head, which stays, and a ring:
//
//	0          head                                room
//	| the head | newest, wrapped … | … oldest kept |
//
// Behind the ring stands a line that says whose it is and how far it has come, so that
// [ReadStored] finds the order again where the server did not live to put it there. That
// there is a ring is written down elsewhere before it is there (Options.Wraps).
// [Spool.Finish] turns that into what a person reads: the head, a line that says
// what was omitted, the tail in order. Offsets do not change by it; where in the
// file they are is known to the spool alone. Which of the lines in such a file are
// ours is written down elsewhere, too, before it is there (Options.Record): a job can
// print any of them.
//
// # Who locks what
//
// No lock is held while a file is written, and as a rule none while it is read. The
// appender withdraws what it is about to overwrite, writes, and then publishes the
// new bytes. A reader looks up a place, reads it, and looks again whether what it
// read was still kept then: bytes never move within one file, so what is kept
// before and after was whole in between. A reader that is outrun three times reads
// with the lock held, and cannot be outrun again.
//
// The package starts no goroutine. Memory grows with what was written: a stream
// that printed nothing holds nothing.
package spool
