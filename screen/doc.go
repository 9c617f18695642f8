// Package screen is a terminal, seen from the program that writes to it: what it shows,
// what it is told and asked, and what its keys, its mouse and a paste send.
//
// Three things read output, each for those who need no more:
//
//   - A [Scanner] reads all output of a terminal job on its way to the spool, for the
//     title, the directory, the modes that decide what keys send, and what the program
//     asks. It draws nothing, and costs next to nothing.
//   - A [Terminal] draws, as xterm does. It is made where somebody wants to see a screen.
//     A [Snapshot] of it does not change any more and may be read by anybody: as lines,
//     as runs of cells in one style, as what another terminal has to be sent
//     (AppendANSI), or as a picture (PNG).
//   - [StripQueries] takes out what the server answers, for clients that have a terminal
//     of their own.
//
// [Encode], [EncodeMouse] and [Paste] are pure functions of what is pressed and of [Modes].
//
// # The life of a byte that is drawn
//
// [Terminal.Write] cuts output into characters, controls and sequences (parser.go).
// Printable ASCII, which is nearly all, is written into cells a run at a time (draw.go);
// a control sequence finds its function in csi.go, the others in control.go and
// strings.go. A row that leaves the normal screen at its top is copied into the history.
// What a cell has no room for, such as a link or what combines with a character, is in
// tables that only grow, so that a snapshot needs no copy of them; they are made anew
// when most of them is garbage.
//
// # Limits
//
// A terminal holds at most 2^18 cells a screen (see [FitSize]) of 16 bytes each, two
// screens, and the history that its maker allows. Strings, parameters, tables and answers
// are bounded; no sequence makes more work than a few screens full.
//
// For output as a whole that is no bound: on the largest screen three bytes may ask for all
// of its cells. So work is counted, and [Terminal.WriteSome] stops when it has done as much as
// it may, for its caller to go on with later, or to leave something out.
//
// The package starts no goroutine, and a [Terminal] and a [Scanner] belong to one
// goroutine at a time.
package screen
