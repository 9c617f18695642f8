// Package spool stores the output of one stream by absolute offset.
//
// A Spool has one appender and any number of readers. Offsets count from 0 at the stream's first byte and are never
// reused, so that a reader is only an offset: a slow reader costs an integer, not a copy of the unread output.
//
// # What is kept
//
// The stored output is bounded. The first bytes are kept permanently, since the beginning of a long output explains it;
// the rest of the space holds the newest bytes. The bytes between them are dropped, and Read and Kept report exactly
// which.
//
// A spool from [New] is only in memory. A spool from [Open] also has a file, usually made with its first byte, and the
// newest bytes in memory as well, where nearly all readers are. A byte is in the file before End counts it, so that a
// server that dies has lost nothing that was sent to a client. The file is not synced: this protects against the death
// of the server, not of the machine.
//
// # The file
//
// While the stream grows, the file grows with it byte for byte, until its space is used up: by its own limit, or
// because the [Budget] that all spools share is used up. Only then is the space divided into the head, which stays, and
// a ring:
//
//	0          head                                room
//	| the head | newest, wrapped … | … oldest kept |
//
// The ring is followed by a line with the stream's name and the position, so that [ReadStored] can restore the order if
// the server died before it did so. The existence of the ring is written down elsewhere before it begins
// (Options.Wraps). [Spool.Finish] turns the file into readable text: the head, a line about the omitted bytes, and the
// tail in order. Offsets do not change by that; only the spool knows their positions in the file. Which of the lines in
// such a file are markers is also written down elsewhere beforehand (Options.Record): a job can print any of these
// lines.
//
// # Locking
//
// No lock is held while a file is written, and usually none while it is read. The appender withdraws the bytes that it
// is about to overwrite, writes, and then publishes the new bytes. A reader looks up a position, reads it, and checks
// whether these bytes were still kept afterwards: bytes never move within a file, so those that are kept before and
// after were intact in between. A reader that the appender has overtaken three times reads with the lock held, and
// cannot be overtaken again.
//
// The package starts no goroutine. Memory grows with the output: a stream without output uses none.
package spool
