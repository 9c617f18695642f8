package screen

import (
	"fmt"
	"strings"
	"testing"
)

// TestScannerAndTerminalAgree compares the state that both follow: keys are typed for the modes of the scanner, and a
// screen is reported with those of the terminal. C1 controls, which the scanner does not take, are written as ESC and a
// letter.
func TestScannerAndTerminalAgree(t *testing.T) {
	for _, s := range []string{
		"\x1b[?1s\x1b[?1h\x1b[?1r", "\x1b[?2004h\x1b[?2004s\x1b[?2004l\x1b[?2004r", "\x1b[20h", "\x1b[?1:2004h", "\x1b[20:1h",
		"\x1b]2;x\x1b\a", "\x1b]2;x\x1b\r\x1b\x7f\x1b\\y\a", "\x1bP$qm\x1b\a\x1b\\", "\x1b]2;" + strings.Repeat("t", 20000) + "\a", "\x1b]2;" + strings.Repeat("t", stringBytes-2) + "\u009c",
		"\x1b]02;zz\a", "\x1b]+2;zz\a", "\x1b]2;a\u009cb\a", "\x1b]2;a\u009b\x9cb\a", "\x1b]2;a\xc2", "\x9c\x1b]2;b\a", "\x1b]2;a\a\x1b[22t\x1b]2;b\a\x1b[23;1t\x1b[23;2t",
		"\x1b7\x1b[?6h\x1b[?69$p\x1b8", "\x1b[?6h\x1b[s\x1b[?6l\x1b[u", "\x1b[?6h\x1b[?69h\x1b[s\x1b[?6l\x1b[u", "\x1b[?40h\x1b[?69h\x1b[?3h",
		"\x1b[?6h\x1b[?1049h\x1b[?6l\x1b[?1049l", "\x1b[?1049h\x1b[?6h\x1b7\x1b[?1047l\x1b8", "\x1b[?1048h\x1b[?6h\x1b[?1048l", "\x1b[?1049s\x1b[?1049h\x1b[?1049r",
		"\x1b[?7s\x1b[?7l\x1b[?7r", "\x1b[?6h\x1b7\x1b[!p\x1b8", "\x1b[?41h\x1b[?1045h\x1b[!p", "\x1b[?6h\x1b7\x1bc\x1b8", "\x1b[1\"q\x1b7\x1bV\x1b8",
	} {
		reportDrift(t, s)
	}
	const each = 60 // sequences
	for i := 0; i < *sequences/each && !t.Failed(); i++ {
		s := newGrammar(*seed, uint64(i)).stream(each)
		if reportDrift(t, s); t.Failed() {
			t.Logf("-seed %d, stream %d", *seed, i)
		}
	}
}

func reportDrift(t *testing.T, stream string) {
	t.Helper()
	stream = withoutC1(stream)
	if drift(stream) != "" {
		small := minimized(stream, func(s string) string { return drift(withoutC1(s)) })
		t.Errorf("%s\n\t%q", drift(withoutC1(small)), small)
	}
}

// withoutC1 writes C1 controls of two bytes as ESC and a letter, except for ST, which both take if it matters.
func withoutC1(stream string) string {
	var b strings.Builder
	for i := 0; i < len(stream); i++ {
		if c := stream[i]; c == 0xc2 && i+1 < len(stream) && stream[i+1] >= 0x80 && stream[i+1] < 0xa0 && stream[i+1] != st {
			i++
			b.WriteString("\x1b" + string(rune(stream[i]-0x40)))
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// drift describes the state on which a scanner and a terminal disagree after a stream.
func drift(stream string) string {
	s, p := NewScanner(""), newPlayer()
	for _, step := range stepsOf(stream) {
		s.Scan([]byte(step.text))
		p.feed(step, len(step.text))
	}
	told, shown := s.Told(), p.Snapshot(0)
	switch {
	case told.Modes != shown.Modes:
		return fmt.Sprintf("the scanner has modes %+v, the terminal %+v", told.Modes, shown.Modes)
	case told.Title != shown.Title:
		return fmt.Sprintf("the scanner has the title %.99q, the terminal %.99q", told.Title, shown.Title)
	case s.saved[0].origin != p.saved[0].origin || s.saved[1].origin != p.saved[1].origin:
		return fmt.Sprintf("the scanner has saved %+v, and the terminal not", s.saved)
	case s.palette != nil && *s.palette != *shown.Palette, s.palette == nil && *standardPalette() != *shown.Palette:
		return "they have other colours"
	}
	for _, mode := range privateSettings {
		scanned, _ := s.privateState(mode.number)
		if drawn, known := p.privateState(int(mode.number)); known && scanned != drawn {
			return fmt.Sprintf("mode %d is %t for the scanner, and %t for the terminal", mode.number, scanned, drawn)
		}
	}
	if insert, _ := s.ansi.get(ansiSettings[:], 4); insert != p.switches.insert {
		return fmt.Sprintf("the scanner inserts: %t, and the terminal not", insert)
	}
	return ""
}
