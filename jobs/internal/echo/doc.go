// Package echo computes the echo that a terminal shows of typed input, and finds it in the terminal's
// output, so that patterns can skip it. It depends only on the input, the terminal's modes and the
// output.
//
// If the kernel echoes, every byte of the echo is known (kernel.go), and exactly these bytes are
// skipped. A program that reads single keys may show them itself, in its own way. Then the visible
// text of the output is searched for the typed text, and nothing may be matched before it is found
// or is known not to come; for a key or two, the first output decides that (lead.go). The program
// may draw the line again (redraw.go). A [Finder] (find.go) combines all this. It follows the
// output with a cursor of its own, ahead of the matching.
package echo
