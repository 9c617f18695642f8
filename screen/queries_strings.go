package screen

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"strings"
)

// Device control strings that ask: DECRQSS, for a setting, and XTGETTCAP, for what the
// terminal's entry in terminfo would say.
const (
	settingQuery    = "$q"
	capabilityQuery = "+q"
)

// isQuery says whether a device control string that begins so, with two bytes or more
// or all that there is of it, may be one of those.
func isQuery(text []byte) bool {
	n := min(len(text), 2)
	return strings.HasPrefix(settingQuery, string(text[:n])) || strings.HasPrefix(capabilityQuery, string(text[:n]))
}

// device takes a device control string that is over.
func (s *Scanner) device(text []byte, cut bool) {
	if cut || len(text) < 2 {
		return
	}
	switch rest := string(text[2:]); string(text[:2]) {
	case settingQuery:
		s.setting(rest)
	case capabilityQuery:
		s.tellCapabilities(rest)
	}
}

// setting answers DECRQSS: the end of the control sequence that would set what is asked
// for, behind its present parameters.
func (s *Scanner) setting(of string) {
	valid := func(params string) { s.answer("\x1bP1$r" + params + of + "\x1b\\") }
	switch of {
	case "m", "r", "s":
		s.ask(Query{Screen: true})
	case " q":
		valid(fmt.Sprint(s.cursorNumber()))
	case `"p`:
		valid("62;1") // a VT220 with controls of seven bits
	case `"q`:
		if s.protects {
			valid("1")
		} else {
			valid("0")
		}
	default:
		s.answer("\x1bP0$r\x1b\\")
	}
}

// tellCapabilities answers XTGETTCAP: each name, in hexadecimal, in a string of its own, as
// newer terminals do. Where xterm puts them into one, it ends with the first that it
// does not know.
func (s *Scanner) tellCapabilities(names string) {
	if s.inVain() {
		s.ask(Query{})
		return
	}
	var out strings.Builder
	for name := range strings.SplitSeq(names, ";") {
		plain, err := hex.DecodeString(name)
		value, known := capabilities[string(plain)]
		if err == nil && known {
			fmt.Fprintf(&out, "\x1bP1+r%s=%X\x1b\\", name, value)
		} else {
			out.WriteString("\x1bP0+r\x1b\\") // nothing that the program has written
		}
	}
	s.answer(out.String())
}

// colours takes the OSC that set, ask for and reset colours, each with the same end as
// the question had.
func (s *Scanner) colours(number, arg, end string) {
	switch number {
	case "4":
		s.paletteColours(arg, end)
	case "104":
		s.resetColours(arg)
	case "10", "11", "12":
		s.ownColours(int(number[1]-'0'), arg, end)
	default: // 110, 111, 112
		if s.palette != nil {
			which := 10 + int(number[2]-'0')
			*s.palette.special(which) = *standardPalette().special(which)
		}
	}
}

// paletteColours is OSC 4: pairs of an index and a colour, or a question mark.
func (s *Scanner) paletteColours(arg, end string) {
	var out strings.Builder
	asks, inVain := false, s.inVain()
	for arg != "" {
		var index, spec string
		index, arg, _ = strings.Cut(arg, ";")
		spec, arg, _ = strings.Cut(arg, ";")
		n, ok := colourIndex(index)
		if !ok {
			break // as xterm: the rest is not looked at
		}
		if asks = asks || spec == "?"; spec == "?" {
			if inVain {
				continue
			}
			fmt.Fprintf(&out, "\x1b]4;%d;%s%s", n, s.colour(func(p *Palette) *Color { return &p.Colors[n] }).spec(), end)
		} else if c, ok := parseColor(spec); ok {
			s.ownPalette().Colors[n] = c
		}
	}
	if asks {
		s.ask(Query{Colour: true, answer: out.String()})
	}
}

// resetColours is OSC 104: all of them, or those that are named.
func (s *Scanner) resetColours(arg string) {
	if s.palette == nil {
		return
	}
	if arg == "" {
		s.palette.Colors = standardPalette().Colors
		return
	}
	for index := range strings.SplitSeq(arg, ";") {
		if n, ok := colourIndex(index); ok {
			s.palette.Colors[n] = standardPalette().Colors[n]
		}
	}
}

// ownColours is OSC 10, 11 and 12. What follows one colour is for the next.
func (s *Scanner) ownColours(which int, arg, end string) {
	var out bytes.Buffer
	for spec := range strings.SplitSeq(arg, ";") {
		if which > 2 {
			break
		}
		if spec == "?" {
			c := s.colour(func(p *Palette) *Color { return p.special(10 + which) })
			fmt.Fprintf(&out, "\x1b]%d;%s%s", 10+which, c.spec(), end)
		} else if c, ok := parseColor(spec); ok {
			*s.ownPalette().special(10 + which) = c
		}
		which++
	}
	if out.Len() > 0 {
		s.ask(Query{Colour: true, answer: out.String()})
	}
}

// colour is one of the colours as they are now.
func (s *Scanner) colour(of func(*Palette) *Color) Color {
	if s.palette != nil {
		return *of(s.palette)
	}
	return *of(standardPalette())
}

// ownPalette is one that may be changed. Most programs change none.
func (s *Scanner) ownPalette() *Palette {
	if s.palette == nil {
		p := *standardPalette()
		s.palette = &p
	}
	return s.palette
}

// isReset says whether a command means something without an argument.
func isReset(number []byte) bool {
	return len(number) == 3 && (string(number) == "104" || string(number[:2]) == "11" && number[2] <= '2')
}
