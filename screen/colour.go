package screen

import (
	"fmt"
	"iter"
	"strconv"
	"strings"
)

// spec returns the colour in the notation of X, as it is reported to a program.
func (c Color) spec() string {
	r, g, b, _ := c.RGB()
	const twice = 0x101 // from 8 bits to 16
	return fmt.Sprintf("rgb:%04x/%04x/%04x", int(r)*twice, int(g)*twice, int(b)*twice)
}

// parseColor parses the notations of X, except for names: rgb:R/G/B, each of one to four hexadecimal digits that count
// as a fraction of the highest number with as many digits, and #RGB with the same number of digits each, which are the
// first digits.
func parseColor(spec string) (Color, bool) {
	var parts []string
	sharp := strings.HasPrefix(spec, "#")
	switch {
	case sharp:
		digits := spec[1:]
		n := len(digits) / 3
		if n == 0 || 3*n != len(digits) {
			return 0, false
		}
		parts = []string{digits[:n], digits[n : 2*n], digits[2*n:]}
	case len(spec) > 4 && strings.EqualFold(spec[:4], "rgb:"):
		if parts = strings.Split(spec[4:], "/"); len(parts) != 3 {
			return 0, false
		}
	default:
		return 0, false
	}
	var rgb [3]uint8
	for i, p := range parts {
		v, ok := colourPart(p, sharp)
		if !ok {
			return 0, false
		}
		rgb[i] = v
	}
	return RGB(rgb[0], rgb[1], rgb[2]), true
}

// colourPart parses one to four digits.
func colourPart(digits string, first bool) (uint8, bool) {
	v, err := strconv.ParseUint(digits, 16, 16)
	if err != nil || len(digits) > 4 {
		return 0, false
	}
	bits := 4 * len(digits)
	if first {
		return uint8(v << (16 - bits) >> 8), true
	}
	highest := uint64(1)<<bits - 1
	return uint8((v*255 + highest/2) / highest), true
}

// colourIndex parses an index of the palette.
func colourIndex(s string) (int, bool) {
	n, err := strconv.ParseUint(s, 10, 8)
	return int(n), err == nil
}

// A colourCommand is a program's request for one colour: a query or a change.
type colourCommand struct {
	place int // see Palette.at
	asks  bool
	to    Color
}

// colourCommands returns the commands in an OSC: 4 and 104 for the colours of the palette, 10 to 12 and 110 to 112 for
// the terminal's own.
func colourCommands(number int, arg string) iter.Seq[colourCommand] {
	return func(yield func(colourCommand) bool) {
		switch number {
		case 4:
			indexedColours(arg, yield)
		case 10, 11, 12:
			ownColours(number-10+specialColours, arg, yield)
		case 104:
			resetColours(arg, yield)
		case 110, 111, 112:
			yield(resetColour(number - 110 + specialColours))
		}
	}
}

// resetsColours reports whether a command is valid without an argument.
func resetsColours(number int) bool { return number == 104 || number >= 110 && number <= 112 }

func resetColour(place int) colourCommand {
	return colourCommand{place: place, to: *standardPalette().at(place)}
}

// changeColour yields the command for a colour or a question mark. It ignores any other spec.
func changeColour(place int, spec string, yield func(colourCommand) bool) bool {
	c, ok := parseColor(spec)
	return spec != "?" && !ok || yield(colourCommand{place, spec == "?", c})
}

// indexedColours handles OSC 4: pairs of an index and a colour.
func indexedColours(arg string, yield func(colourCommand) bool) {
	for arg != "" {
		var index, spec string
		index, arg, _ = strings.Cut(arg, ";")
		spec, arg, _ = strings.Cut(arg, ";")
		n, ok := colourIndex(index)
		if !ok || !changeColour(n, spec, yield) {
			return // as in xterm: the rest is ignored
		}
	}
}

// ownColours handles OSC 10, 11 and 12. Each further colour in the list is for the next number.
func ownColours(place int, arg string, yield func(colourCommand) bool) {
	for spec := range strings.SplitSeq(arg, ";") {
		if place > specialColours+2 || !changeColour(place, spec, yield) {
			return
		}
		place++
	}
}

// resetColours handles OSC 104: all colours, or the listed ones.
func resetColours(arg string, yield func(colourCommand) bool) {
	if arg == "" {
		for n := range specialColours {
			if !yield(resetColour(n)) {
				return
			}
		}
		return
	}
	for index := range strings.SplitSeq(arg, ";") {
		if n, ok := colourIndex(index); ok && !yield(resetColour(n)) {
			return
		}
	}
}

// specialColours is the place of the first of the terminal's own colours, behind those of the palette.
const specialColours = 256

// at returns the colour at a place.
func (p *Palette) at(place int) *Color {
	if place < specialColours {
		return &p.Colors[place]
	}
	return p.special(place - specialColours + 10)
}
