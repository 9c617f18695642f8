// Package follow matches patterns over streams of stored output while they grow. It reads them with cursors of its own
// (feed.go), which take turns (turns.go), so that a slow pattern delays neither the output nor the other patterns. It
// decides when a match counts that more output could change (quiet.go), skips the echo of what was typed (echo.go),
// reports when all that is stored has been matched (sync.go), and what has not been if nothing may wait for that any
// longer (giveup.go). A little output is matched by the goroutine that has stored it (inline.go).
//
// It knows nothing of jobs: an [Owner] takes the hits, and a [Source] is a stream.
package follow
