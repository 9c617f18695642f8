// Package font is GNU Unifont, a bitmap font with a glyph for most of Unicode. It is part of the program. A part of it
// is unpacked when a glyph in it is first requested, so a program that draws nothing pays nothing.
package font

import (
	"compress/flate"
	_ "embed" // the font
	"encoding/binary"
	"io"
	"strings"
	"sync/atomic"
)

// Height is the number of rows of pixels in a glyph.
const Height = 16

// A Glyph is the picture of a character, of 16 rows from the top. In a row the highest bit is the pixel at the left.
type Glyph struct {
	Rows  [Height]uint16
	Width int // in pixels, 8 or 16; a narrow glyph has the upper 8 bits of each row
}

// packed is the output of gen.go: the license, ended by 0; the offset of each chunk of characters and of the end, as 4
// bytes each, the lowest first; and the chunks.
//
//go:embed unifont.bin
var packed string

const (
	chunkRunes = 1024    // of a chunk
	runes      = 0x40000 // from 0 on
	chunks     = runes / chunkRunes
)

// A chunk holds the glyphs of chunkRunes characters. The largest has 32 KB of bits.
type chunk struct {
	at   [chunkRunes + 1]uint16 // offset of each glyph in bits, in units of 16 bytes
	bits []byte                 // of each glyph the left 8 pixels of 16 rows, then the right ones
}

// unpacked holds the chunks that were requested. Two goroutines may unpack the same one at a time; it does not matter
// which copy is kept.
var unpacked [chunks]atomic.Pointer[chunk]

// Lookup returns the glyph of a character, if there is one. There is none for control characters, for invisible
// characters, and for private use.
func Lookup(r rune) (g Glyph, ok bool) {
	if r < 0 || r >= runes {
		return Glyph{}, false
	}
	c := unpacked[r/chunkRunes].Load()
	if c == nil {
		c = unpack(int(r / chunkRunes))
		unpacked[r/chunkRunes].Store(c)
	}
	from, to := int(c.at[r%chunkRunes])*Height, int(c.at[r%chunkRunes+1])*Height
	if from == to {
		return Glyph{}, false
	}
	for i, b := range c.bits[from:to] {
		g.Rows[i%Height] |= uint16(b) << (8 - i/Height*8)
	}
	g.Width = (to - from) / Height * 8
	return g, true
}

// unpack reads a chunk: two bits for the width of each glyph, in units of 8 pixels, and the bits of all. A chunk of no
// bytes has no glyphs.
func unpack(n int) *chunk {
	index := strings.IndexByte(packed, 0) + 1
	begin := func(n int) uint32 { return binary.LittleEndian.Uint32([]byte(packed[index+4*n:][:4])) }
	c := &chunk{}
	if begin(n) == begin(n+1) {
		return c
	}
	r := flate.NewReader(strings.NewReader(packed[begin(n):begin(n+1)]))
	var widths [chunkRunes / 4]byte
	must(io.ReadFull(r, widths[:]))
	for i := range chunkRunes {
		c.at[i+1] = c.at[i] + uint16(widths[i/4]>>(i%4*2)&3)
	}
	c.bits = make([]byte, int(c.at[chunkRunes])*Height)
	must(io.ReadFull(r, c.bits))
	return c
}

// must panics on an error from reading embedded data.
func must(_ int, err error) {
	if err != nil {
		panic("the built-in font is damaged: " + err.Error())
	}
}

// License returns the terms for passing on the font, and the names of its authors.
func License() string {
	text, _, _ := strings.Cut(packed, "\x00")
	return text
}
