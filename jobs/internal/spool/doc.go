// Package spool stores the output of one stream by absolute offset.
//
// A Spool has one appender and any number of readers. Offsets count from 0 at
// the stream's first byte and are never reused, so that a reader is nothing but
// an offset: a slow one costs an integer, not a copy of what it has not read.
//
// What is kept is bounded. The first eighth of the bound is kept for good, since
// the beginning of a long output is what explains it; the rest holds the newest
// bytes. What falls between them is gone, and Read and Kept say so exactly.
//
// The package starts no goroutine. Memory grows with what was written: a stream
// that printed nothing holds nothing.
package spool
