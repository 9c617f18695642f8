// Package cast writes asciicasts of version 3: recordings of terminals that the players of
// asciinema show (https://docs.asciinema.org/manual/asciicast/v3/).
//
//	{"version":3,"term":{"cols":80,"rows":24,"type":"xterm-256color"},"timestamp":1763800000}
//	[0.024817,"o","$ "]
//	[1.500000,"i","l"]
//	[0.000310,"o","l"]
//	[2.000000,"r","100x30"]
//	[0.700000,"x","0"]
//
// The first line says what was recorded, each line below it what happened, and how many
// seconds after the line above. The codes are o (output), i (input), r (resize), m (marker)
// and x (exit).
//
// A recording is JSON text, and output is bytes. A character that is cut in two by how output
// was read is put together ([Text]); what is no UTF-8 becomes U+FFFD, and control characters
// are escaped.
//
// A [Writer] has its file consist of whole lines: one that the disk does not take to its end
// is taken back. It bounds what it writes, and where that is used up, a marker says so.
//
// The package starts no goroutine.
package cast
