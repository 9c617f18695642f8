// Package redact takes secret values out of a stream of bytes, as it comes.
//
// A [Set] is what is looked for; it never changes, and any number of streams share it. A
// [Redactor] is one stream's place in it:
//
//	Write(chunk) -> what may be passed on now
//	Held()       -> how much is held back, and how much of that a pause sets free
//	Pause()      -> what may be passed on because nothing came for a while
//	Flush()      -> all of the rest, because nothing more will come
//
// What is replaced: every byte of every occurrence of every value, where occurrences may
// overlap, or one may lie in another. Those that overlap or touch make one "***" together.
// Without pauses the result depends on the bytes alone, and not on how
// they were cut into chunks.
//
// What may be the beginning of a value is held back until it is known. After a pause as much
// of it is passed on as leaves less than half of every value that has begun to be seen; of
// half or more nothing is passed on before it is decided. What is passed on early is not
// forgotten: where the rest of the value comes, it is replaced.
//
// How: an automaton of all values (Aho, Corasick) reads what may be a part of one, once and
// without going back. What cannot be is passed over by a filter (filter.go), which looks at
// four bytes in so many as the shortest value has.
package redact
