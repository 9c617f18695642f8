package screen

import (
	"encoding/hex"
	"fmt"
	"strings"
)

// Device control strings that ask: DECRQSS, for a setting, and XTGETTCAP, for entries of the terminal's terminfo
// description.
const (
	settingQuery    = "$q"
	capabilityQuery = "+q"
)

// isQuery reports whether a device control string that begins with text may be one of those. The text has at least two
// bytes, or is all of the string so far.
func isQuery(text []byte) bool {
	n := min(len(text), 2)
	return strings.HasPrefix(settingQuery, string(text[:n])) || strings.HasPrefix(capabilityQuery, string(text[:n]))
}

// device handles a complete device control string.
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

// setting answers DECRQSS: with the end of the control sequence that would set the requested setting, behind its
// present parameters.
func (s *Scanner) setting(of string) {
	valid := func(params string) { s.answer(settingAnswer(params, of)) }
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

// tellCapabilities answers XTGETTCAP: each name, in hexadecimal, in a string of its own, as newer terminals do. Xterm
// puts them into one string, which ends with the first unknown name.
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
			out.WriteString("\x1bP0+r\x1b\\") // without any text that the program has written
		}
	}
	s.answer(out.String())
}

// colours handles the OSC that set, query and reset colours. The answers have the same terminator as the query.
func (s *Scanner) colours(number int, arg, end string) {
	var out []byte
	asks, inVain := false, s.inVain()
	for c := range colourCommands(number, arg) {
		p := s.palette
		if p == nil {
			p = standardPalette()
		}
		asks = asks || c.asks
		switch {
		case c.asks && inVain:
		case c.asks && c.place < specialColours:
			out = fmt.Appendf(out, "\x1b]4;%d;%s%s", c.place, p.at(c.place).spec(), end)
		case c.asks:
			out = fmt.Appendf(out, "\x1b]%d;%s%s", c.place-specialColours+10, p.at(c.place).spec(), end)
		case *p.at(c.place) != c.to:
			*s.ownPalette().at(c.place) = c.to
		}
	}
	if asks {
		s.ask(Query{Colour: true, answer: string(out)})
	}
}

// ownPalette returns a palette that may be changed. Most programs change none.
func (s *Scanner) ownPalette() *Palette {
	if s.palette == nil {
		p := *standardPalette()
		s.palette = &p
	}
	return s.palette
}
