package screen

import (
	"fmt"
	"strconv"
	"strings"
)

// spec is how a colour is told to a program, as X has it.
func (c Color) spec() string {
	r, g, b, _ := c.RGB()
	const twice = 0x101 // from 8 bits to 16
	return fmt.Sprintf("rgb:%04x/%04x/%04x", int(r)*twice, int(g)*twice, int(b)*twice)
}

// parseColor takes what X takes, but for names: rgb:R/G/B, each of one to four
// hexadecimal digits which are a part of the highest number that they could be, and
// #RGB with as many of each, which are the first digits.
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

// colourPart takes one to four digits.
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

// colourIndex takes a place in the palette.
func colourIndex(s string) (int, bool) {
	n, err := strconv.ParseUint(s, 10, 8)
	return int(n), err == nil
}
