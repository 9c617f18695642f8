// Package screen is a terminal as the program that writes to it sees it: the picture that it shows, the commands and
// queries that it takes, and the input that its keys, its mouse and a paste send.
//
// Three parts read output, each for a different need:
//
//   - A [Scanner] reads all output of a terminal job on its way to the spool. It follows the
//     title, the directory, the modes that decide what keys send, and the program's queries. It
//     draws nothing, and costs next to nothing.
//   - A [Terminal] draws, as xterm does. It is made when a client wants to see a screen. A
//     [Snapshot] of it is immutable, and any goroutine may read it: as lines, as runs of cells in
//     one style, as output for another terminal (AppendANSI), or as a picture (PNG).
//   - [StripQueries] removes the queries that the server answers, for clients that have a
//     terminal of their own.
//
// [Encode], [EncodeMouse] and [Paste] are pure functions of the input and of [Modes].
//
// # The life of a byte that is drawn
//
// [Terminal.Write] cuts output into characters, controls and sequences (parser.go). Printable ASCII, which is nearly
// all, is written into cells a run at a time (draw.go); a control sequence finds its function in csi.go, the others in
// control.go and strings.go. A row that leaves the normal screen at its top is copied into the history. Data that does
// not fit into a cell, such as a link or combining characters, is in tables that only grow, so that a snapshot needs no
// copy of them; they are rebuilt when most of them is garbage.
//
// # Limits
//
// A terminal holds at most 2^18 cells a screen (see [FitSize]) of 16 bytes each, two screens, and the history that its
// creator allows. Strings, parameters, tables and answers are bounded; no sequence causes more work than a few screens
// full.
//
// That does not bound the work for output as a whole: on the largest screen three bytes may change all of its cells. So
// work is counted, and [Terminal.WriteSome] stops when it has done the allowed amount. Its caller continues later, or
// leaves something out.
//
// The package starts no goroutine, and a [Terminal] and a [Scanner] belong to one goroutine at a time.
package screen
