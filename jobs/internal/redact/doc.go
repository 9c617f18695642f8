// Package redact removes secret values from a stream of bytes, as it arrives.
//
// A [Set] holds the values; it never changes, and any number of streams share it. A [Redactor] is the state of
// one stream:
//
//	Write(chunk) -> bytes to pass on now
//	Held()       -> how many bytes are held back, and how many of them a pause releases
//	Pause()      -> bytes to pass on because nothing has come for a while
//	Flush()      -> all the rest, because nothing more will come
//
// Every byte of every occurrence of every value is replaced, even if occurrences overlap or one contains another.
// Occurrences that overlap or touch become one "***" together. Without pauses the result depends only on the
// bytes, and not on how they were cut into chunks.
//
// Bytes that may begin a value are held back until this is decided. A pause releases as many of them as keep the
// visible part of every begun value below its half; a half or more is never released before it is decided.
// Released bytes are remembered: if the rest of the value follows, the rest is replaced.
//
// Implementation: an Aho-Corasick automaton of all values reads the bytes that may belong to one, once and
// without backtracking. A filter (filter.go) skips the other bytes; it checks only four bytes per length of the
// shortest value.
package redact
