// Package cast writes asciicasts of version 3: terminal recordings that the players of asciinema show
// (https://docs.asciinema.org/manual/asciicast/v3/).
//
//	{"version":3,"term":{"cols":80,"rows":24,"type":"xterm-256color"},"timestamp":1763800000}
//	[0.024817,"o","$ "]
//	[1.500000,"i","l"]
//	[0.000310,"o","l"]
//	[2.000000,"r","100x30"]
//	[0.700000,"x","0"]
//
// The first line describes the recording. Each line below it is an event, with the seconds since the line above.
// The codes are o (output), i (input), r (resize), m (marker) and x (exit).
//
// A recording is JSON text, and output is bytes. A [Text] reassembles characters that are split between reads,
// replaces invalid UTF-8 by U+FFFD, and escapes control characters.
//
// A [Writer] keeps its file at whole lines: if the disk does not take a line completely, the Writer removes the
// part again. It limits the bytes that it writes; when the limit is reached, a marker says so.
//
// The package starts no goroutine.
package cast
