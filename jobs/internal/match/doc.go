// Package match finds ECMAScript patterns in the output of a job while it comes (protocol section 4, "Patterns and
// chunk edges", and section 5).
//
// A [Pattern] is compiled once and shared. A [Set] matches any number of patterns over one stream; a [Stripper]
// produces the plain form of terminal output, and is usable alone. Everything is a plain value, and the package has no
// goroutine: a Set belongs to one caller. (The engine keeps a clock for about a second after a search that has a time
// limit; see [StopClock].)
//
// # The life of some bytes
//
//	Set.Feed
//	  lane.put         removes escape sequences (plain lane), replaces bytes that are not
//	                   UTF-8, records the raw offset of each position
//	  scan.run         for each pattern, block by block:
//	    scan.waits     is its earliest start still undecided? then nothing counts
//	    scan.search    find a match, decide whether it is settled, and continue after it
//	  lane.trim        drops the text that no pattern can need
//
// # Output that is stored
//
// A [Query] is a pattern or a text to find in stored output; a [Search] runs it over a stretch of that output
// (search.go). It finds the matches that a Set would have found, and uses a Set if it has to: whole lines without a
// text that every match contains are skipped, and a search for a text needs no engine (literal.go).
//
// # When a match counts
//
// A match is settled, and returned at once, when no further byte can change it: its start, its end and its groups. A
// match may depend on the end of the available text in three ways: it could grow, an assertion in it reads the next
// character, or an attempt that began earlier is not yet refused and would come before it. Such a match waits for more
// bytes or for [Set.Settle].
//
// Two parts do the finding and the deciding. The engine (regexp2, used only in engine.go) finds matches. It cannot
// decide whether they are settled. Mostly the shape of the pattern does: all that it can read lies before the end, or
// before a line break that nothing in it can pass. Otherwise the machine, a small backtracking matcher, tries the same
// starts again and records whether an attempt touches the end of the text. The parser that makes the tree for both also
// gives errors their position, refuses constructs that are not ECMAScript, and enforces the limits without which the
// engine's own compiler can be made to hang.
//
// # Results depend only on the bytes
//
// The matches that Feed and the next Settle return are the same however the bytes were cut. Successive matches do not
// overlap, as with matchAll; empty ones are never reported, though they take part in deciding where the next one
// begins. A byte that is not UTF-8 is one U+FFFD; offsets stay exact. Text is matched by code points, with and without
// the u flag.
//
// # Limits
//
// A match, and the text that look-behind sees, reach back at most 64 KiB of the text that the pattern sees, up to one
// block of 16 KiB more depending on their place in the stream. If a match comes to begin further back, its present
// extent counts; a start without a match by then is given up. If this may have decided the beginning or end of a match,
// the match is [Match.Limited]. A look-behind that reaches so far takes that edge for the start of the stream.
//
// A pattern has 50 ms for the text of a Feed (for each 8 KiB of it, if it has more): on Linux, once it is slow, of
// processor time, on other systems of wall time. A pattern that runs out of time twice in a row, or out of backtracking
// stack, is removed, and a [Hit] reports it. While the start of a match is undecided each Feed costs one attempt at it,
// in the worst case over all of the lookback.
package match
