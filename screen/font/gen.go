//go:build ignore

package main

// Makes unifont.bin from Unifont's list of glyphs (see README.md):
//
//	go run gen.go OFL.txt unifont_all.hex unifont.bin
//
// The list has a line for each character: its number and, behind a colon, its rows from the top, both in hexadecimal. A
// glyph of 16 bytes is 8 pixels wide, one of 32 bytes 16.

import (
	"bufio"
	"bytes"
	"compress/flate"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"log"
	"os"
	"strconv"
	"strings"
	"unicode"
)

const (
	chunkRunes = 1024    // as in font.go
	runes      = 0x40000 // higher planes hold nothing that is sent to a terminal
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 4 {
		log.Fatal("usage: go run gen.go OFL.txt unifont_all.hex unifont.bin")
	}
	license, err := os.ReadFile(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	glyphs, err := read(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	b := append(license, 0)
	index := len(b)
	b = append(b, make([]byte, 4*(runes/chunkRunes+1))...)
	for i := range runes/chunkRunes + 1 {
		binary.LittleEndian.PutUint32(b[index+4*i:], uint32(len(b)))
		if i < runes/chunkRunes {
			b = append(b, chunk(glyphs, rune(i*chunkRunes))...)
		}
	}
	if err := os.WriteFile(os.Args[3], b, 0o644); err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(glyphs), "glyphs in", len(b), "bytes")
}

// read returns the glyphs to keep.
func read(name string) (map[rune][]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	glyphs := map[rune][]byte{}
	for lines := bufio.NewScanner(f); ; {
		if !lines.Scan() {
			return glyphs, lines.Err()
		}
		number, rows, _ := strings.Cut(lines.Text(), ":")
		n, err := strconv.ParseUint(number, 16, 32)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", lines.Text(), err)
		}
		bits, err := hex.DecodeString(rows)
		if err != nil || len(bits) != 16 && len(bits) != 32 {
			return nil, fmt.Errorf("%q: the glyph does not have 16 rows", lines.Text())
		}
		if r := rune(n); n < runes && !unicode.Is(unicode.Co, r) && !stands(r, bits) {
			glyphs[r] = bits
		}
	}
}

// stands reports whether a glyph is only a placeholder: a dashed frame around the name of an invisible character, or a
// box with the number of an unassigned one.
func stands(r rune, bits []byte) bool {
	if len(bits) != 32 {
		return false
	}
	row := func(y int) uint16 { return binary.BigEndian.Uint16(bits[2*y:]) }
	if row(0) == 0xaaaa && row(15) == 0x5555 {
		return true
	}
	if !unicode.Is(unicode.Cn, r) {
		return false // U+2B1B and others look like such a box
	}
	frame := row(1)
	return row(0) == 0 && row(15) == 0 && (frame == 0x7ffe || frame == 0xffff) &&
		row(7) == frame && row(8) == frame && row(14) == frame
}

// chunk packs the glyphs from a character on: two bits each for their width, in units of 8 pixels, then their bits. The
// right half of a wide glyph follows its left half: a column of bytes compresses better than a row.
func chunk(glyphs map[rune][]byte, first rune) []byte {
	widths := make([]byte, chunkRunes/4)
	var bits []byte
	for i := range chunkRunes {
		g := glyphs[first+rune(i)]
		widths[i/4] |= byte(len(g)/16) << (i % 4 * 2)
		for half := range len(g) / 16 {
			for y := range 16 {
				bits = append(bits, g[y*len(g)/16+half])
			}
		}
	}
	if len(bits) == 0 {
		return nil
	}
	var b bytes.Buffer
	w, _ := flate.NewWriter(&b, flate.BestCompression) // The level is valid, so there is no error.
	w.Write(widths)
	w.Write(bits)
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}
	return b.Bytes()
}
