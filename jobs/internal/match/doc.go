// Package match finds ECMAScript patterns in the output of a job while it comes
// (protocol section 4, "Patterns and chunk edges", and section 5).
//
// A [Pattern] is compiled once and shared. A [Set] matches any number of
// patterns over one stream; a [Stripper] is the plain form of terminal output,
// usable alone. Everything is a plain value, and there is no goroutine here: a
// Set belongs to one caller. (The engine keeps a clock for about a second after
// a search that has a time limit; see [StopClock].)
//
// # The life of some bytes
//
//	Set.Feed
//	  lane.put         removes escape sequences (plain lane), replaces what is not
//	                   UTF-8, notes which raw offset stands where
//	  scan.run         for each pattern, block by block:
//	    scan.waits     is its earliest start still undecided? then nothing counts
//	    scan.search    find a match, decide whether it is settled, and go on after it
//	  lane.trim        drops what no pattern can need
//
// # Output that is stored
//
// A [Query] is a pattern or a text that is looked for in stored output; a [Search] goes
// along a stretch of that (search.go). It finds what a Set would have found, and is a Set
// where it has to be: whole lines that lack a text which every match has are passed over,
// and a text needs no engine (literal.go).
//
// # When a match counts
//
// A match is settled, and returned at once, when no further byte can change it:
// its start, its end and its groups. A match may lean on the end of what came
// in three ways: it could grow, an assertion in it looks at what comes next, or
// an attempt that began earlier is not yet refused and would come before it.
// Such a match waits for more bytes or for [Set.Settle].
//
// Finding and deciding are two things here. The engine (regexp2, in engine.go
// alone) says what matches. What is settled it cannot say. Mostly the shape of
// the pattern does: all that it can read lies before the end, or a line break
// that nothing in it can pass does. Otherwise the machine, a small backtracking
// matcher, tries the same starts again and notes whether an attempt touches the
// end of the text. The parser that makes the tree for both also gives errors
// their position, refuses what is not ECMAScript, and keeps the limits without
// which the engine's own compiler can be made to hang.
//
// # What depends on the bytes alone
//
// The matches that Feed and the next Settle return are the same however the
// bytes were cut. Successive matches do not overlap, as with matchAll; empty
// ones are never reported, though they take part in deciding where the next one
// begins. A byte that is not UTF-8 is one U+FFFD; offsets stay exact. Text is
// matched by code points, with and without the u flag.
//
// # Limits
//
// A match, and what look-behind sees, reach back at most 64 KiB of the text that
// the pattern sees, up to one block of 16 KiB more depending on where in the
// stream they are. A match that has come to begin further back counts as far as
// it has come; a start that has led to no match by then is given up. Matches of
// which that may have decided where they begin or end are [Match.Limited]. A
// look-behind that reaches so far takes that edge for the start of the stream.
//
// A pattern has 50 ms for what a Feed brings (for each 8 KiB of it, where that is
// more): on Linux of a processor's time, as soon as it is slow, elsewhere by the clock. One that is out of time twice in a row, or out of backtracking stack, is
// removed, and a [Hit] says so. While the start of a match
// is undecided each Feed costs one attempt at it, in the worst case over all of
// the lookback.
package match
