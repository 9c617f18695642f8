// Package follow matches patterns over streams of stored output while they grow. It reads them with cursors of its own
// (feed.go), which take turns (turns.go), so that a slow pattern delays neither the output nor the other patterns. It
// decides when a match counts that more output could change (quiet.go), skips the echo of typed input (echo.go),
// reports when all stored output has been matched (sync.go), and gives up the unmatched output if the time is over
// (giveup.go). A little output is matched by the goroutine that has stored it (inline.go).
//
// It knows nothing of jobs: an [Owner] takes the hits, and a [Source] is a stream.
package follow
