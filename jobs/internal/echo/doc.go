// Package echo knows what a terminal shows of what was typed into it, and finds that in the output.
//
// What a terminal shows of what was just typed is no
// answer to it. Where the kernel echoes, what it shows is known byte for byte
// (kernel.go) and is taken out. Where a program reads single keys, it may show
// them itself, in its own way: then the text that was typed is looked for in what
// can be seen of the output, and nothing is matched before it was found, or before
// it is known that it does not come: for a key, by what is printed first
// (lead.go). It may come again (redraw.go). A [Finder] (find.go)
// does all this; it follows the output with a cursor of its own, in front of the
// matching.
package echo
