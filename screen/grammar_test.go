package screen

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// A grammar makes output like that of programs, and much that no program would write. Equal seeds make equal streams.
type grammar struct{ *rand.Rand }

func newGrammar(seed, stream uint64) grammar { return grammar{rand.New(rand.NewPCG(seed, stream))} }

// stream returns about n sequences.
func (g grammar) stream(n int) string {
	var b strings.Builder
	b.WriteString(g.resize())
	for range n {
		b.WriteString(g.sequence())
	}
	return b.String()
}

func (g grammar) sequence() string {
	switch n := g.IntN(1000); {
	case n < 200:
		return g.text()
	case n < 300:
		return g.wideText()
	case n < 400:
		return g.pick(controls)
	case n < 600:
		return g.usual()
	case n < 780:
		return "\x1b[" + g.csi()
	case n < 840:
		return g.escape()
	case n < 890:
		return g.command()
	case n < 920:
		return string(rune(0x80 + g.IntN(0x20))) // a C1, as UTF-8
	case n < 950:
		return g.pick(badUTF8)
	case n < 985:
		return g.truncated()
	case n < 988:
		return g.long()
	}
	return g.resize()
}

func (g grammar) pick(from []string) string { return from[g.IntN(len(from))] }

var controls = []string{
	"\x00", "\x05", "\x07", "\b", "\t", "\n", "\v", "\f", "\r", "\r\n", "\x0e", "\x0f", "\x18", "\x1a", "\x1b", "\x7f",
	"\n\n\n", "\b\b\b", "\r\n", "\n",
}

// badUTF8 are invalid bytes: lone ones, cut ones, overlong ones, halves of UTF-16, code points above the last one, C1
// as single bytes.
var badUTF8 = []string{
	"\x80", "\xbf", "\xc2", "\xc3\x28", "\xc0\x80", "\xc1\xbf", "\xe2\x82", "\xe2\x28\xa1", "\xe0\x80\xaf", "\xed\xa0\x80", "\xef\xbf",
	"\xf0\x9f\x98", "\xf0\x80\x80\x80", "\xf4\x90\x80\x80", "\xf5", "\xff", "\xfe\xff", "\x9b31m", "\x90q", "\x9d0;t\x9c", "\xe4\x1b[m", "\xe4\xb8\n\xad",
}

func (g grammar) text() string {
	b := make([]byte, 1+g.IntN(24))
	for i := range b {
		b[i] = byte(' ' + g.IntN(95))
	}
	return string(b)
}

// wideOrJoined are characters that take two places, or none, or join their neighbours.
var wideOrJoined = []string{
	"世", "界", "ネ", "Ａ", "한", "😀", "👍🏽", "👩‍💻", "🇩🇪", "🇫", "❤️", "☺︎", "1️⃣", "é", "e\u0301", "\u0301", "\u0300\u0301\u0302\u0303",
	"\u200d", "\u200b", "\ufe0f", "\u20dd", "\u00ad", "\u1100\u1161\u11a8", "\u0e33", "\u0915\u094d\u0937", "\u202e", "\u2028", "\ufeff", "\ufffd",
	"\U000e0041", "\U0010ffff", "\ue0b0", "─", "…", "ﬀ", "א", "\u0600", "\U0001f9d1\u200d\U0001f91d\u200d\U0001f9d1",
}

func (g grammar) wideText() string {
	var b strings.Builder
	for range 1 + g.IntN(8) {
		b.WriteString(g.pick(wideOrJoined))
		if g.IntN(4) == 0 {
			b.WriteByte('x')
		}
	}
	return b.String()
}

// privateModes are the modes that some terminal implements.
var privateModes = []int{
	1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 18, 25, 40, 41, 42, 44, 45, 46, 47, 66, 67, 69, 80, 95, 1000, 1002, 1003, 1004, 1005, 1006, 1007, 1015,
	1016, 1034, 1045, 1046, 1047, 1048, 1049, 2004, 2026, 2027, 2031, 2048, 2500, 9001,
}

// usual returns a sequence with an effect, with numbers that fit a screen.
func (g grammar) usual() string {
	n := func() int { return g.IntN(14) }
	switch g.IntN(16) {
	case 0, 1:
		return fmt.Sprintf("\x1b[%d;%dH", n(), n())
	case 2:
		return fmt.Sprintf("\x1b[%d;%dr", n(), n())
	case 3:
		return fmt.Sprintf("\x1b[?69h\x1b[%d;%ds", n(), n())
	case 4, 5:
		return fmt.Sprintf("\x1b[?%d%c", privateModes[g.IntN(len(privateModes))], "hhllsr"[g.IntN(6)])
	case 6:
		return fmt.Sprintf("\x1b[%d%c", []int{2, 4, 12, 20}[g.IntN(4)], "hl"[g.IntN(2)])
	case 7:
		return fmt.Sprintf("\x1b[%d;%d;%d;%d;%d;%d;%d;%d$%c", n(), n(), n(), n(), n(), n(), n(), n(), "vrtxz{wy"[g.IntN(8)])
	case 8:
		return g.pick([]string{"\x1b7", "\x1b8", "\x1bc", "\x1b[!p", "\x1bM", "\x1bD", "\x1bE", "\x1bH", "\x1b#8", "\x1b6", "\x1b9", "\x1bn", "\x1bo"})
	case 9:
		return fmt.Sprintf("\x1b[%d;%d;38:2::%d:%d:%d;48;5;%dm", n(), n(), n(), n(), n(), n())
	case 10:
		return g.pick([]string{"\x1b[c", "\x1b[>c", "\x1b[=c", "\x1b[5n", "\x1b[6n", "\x1b[?6n", "\x1b[18t", "\x1b[21t", "\x1b[x", "\x1b[1;1;1;1;9;9*y", "\x1b[>q"})
	case 11:
		return g.pick([]string{"\x1b[22t", "\x1b[23t", "\x1b[#{", "\x1b[#}", "\x1b[#P", "\x1b[#Q", "\x1b[?1049h", "\x1b[?1049l", "\x1b[\"q", "\x1b[1\"q", "\x1bV", "\x1bW"})
	}
	return fmt.Sprintf("\x1b[%d%c", n(), "@ABCDEFGIJKLMPSTXZ`abdegijk"[g.IntN(27)])
}

// csi returns the part of a control sequence after CSI, known or unknown.
func (g grammar) csi() string {
	var b strings.Builder
	b.WriteString(g.pick([]string{"", "", "", "", "?", "?", ">", "<", "=", "?>", "!"}))
	for i := range g.params() {
		if i > 0 {
			b.WriteByte(";;;;:"[g.IntN(5)])
		}
		b.WriteString(g.param())
	}
	if g.IntN(20) == 0 {
		b.WriteString(g.pick(controls)) // It is performed in the middle of a sequence.
	}
	for range g.IntN(3) * g.IntN(2) {
		b.WriteByte(byte(0x20 + g.IntN(0x10)))
	}
	b.WriteByte(byte(0x40 + g.IntN(0x3f)))
	return b.String()
}

func (g grammar) params() int {
	switch g.IntN(100) {
	case 0:
		return 1000
	case 1, 2:
		return 30 + g.IntN(6)
	}
	return g.IntN(6)
}

func (g grammar) param() string {
	switch g.IntN(10) {
	case 0:
		return ""
	case 1:
		return "0"
	case 2:
		return g.pick([]string{"32767", "32768", "65535", "65536", "2147483647", "2147483648", "4294967296", "99999999999999999999", "00000000000000000001"})
	case 3:
		return fmt.Sprint(privateModes[g.IntN(len(privateModes))])
	case 4:
		return g.pick([]string{"38:5:1", "38:2:1:2:3", "38:2::1:2:3:::", "4:3", "4:9", "58:5", "48:2:", ":", "1:", "::1"})
	}
	return fmt.Sprint(g.IntN(30))
}

func (g grammar) escape() string {
	b := []byte{0x1b}
	for range g.IntN(3) {
		b = append(b, byte(0x20+g.IntN(0x10)))
	}
	return string(append(b, byte(0x30+g.IntN(0x4f))))
}

// command returns a string of OSC, DCS, APC, PM or SOS.
func (g grammar) command() string {
	begin := g.pick([]string{"\x1b]", "\x1b]", "\x1b]", "\x1bP", "\x1bP", "\x1b_", "\x1b^", "\x1bX", "\u009d", "\u0090"})
	text := g.pick([]string{
		"0;title", "2;", "1;icon", "0;t\ti\x7ft\nle", "4;1;?", "4;1;rgb:1/2/3;2;#abc;999;red;-1;?", "104", "104;1;2", "10;?", "11;#102030", "12;rgb:ff/ff", "110", "112",
		"8;;http://a/b", "8;id=x;http://c", "8;;", "52;c;?", "52;c;aGk=", "7;file:///tmp", "133;A", "9;9;/x", "1337;File=inline=1:AAAA", "1337;Block=id=a;attr=start", "l", ";", "",
		"$q\"p", "$qr", "$qm", "$q q", "$qs", "$q", "$qzz", "+q544e", "+q", "1$r", "1$t0/1/2", "2$t", "1$u", "q#0;2;0;0;0#0~~$-", "1;1|17/ab", "0;0;1{ @\x7f", "=1s",
		"Ga=q;AAAA", "2;世界\u0301", "2;\xff\xfe", g.csi(), g.text(),
	})
	return begin + text + g.pick([]string{"\x07", "\x1b\\", "\x1b\\", "\u009c", "\x18", "\x1a", "\x1b", ""})
}

// truncated returns a sequence without its end.
func (g grammar) truncated() string {
	s := g.pick([]string{"\x1b[" + g.csi(), g.escape(), g.command(), g.usual(), g.wideText()})
	return s[:g.IntN(len(s)+1)]
}

// long returns more than any buffer should keep.
func (g grammar) long() string {
	n := 1 << g.IntN(15)
	switch g.IntN(8) {
	case 0:
		return "\x1b]2;" + strings.Repeat("t", n) + g.pick([]string{"\x07", ""})
	case 1:
		return "\x1bP$q" + strings.Repeat("m", n) + "\x1b\\"
	case 2:
		return "\x1b[" + strings.Repeat("1;", n) + "m"
	case 3:
		return "\x1b[" + strings.Repeat("9", n) + "C"
	case 4:
		return "e" + strings.Repeat("\u0301", n/4)
	case 5:
		return g.many(n/2, func() string { return fmt.Sprintf("e%c%c", 0x300+g.IntN(64), 0x300+g.IntN(64)) })
	case 6:
		return g.many(n/2, func() string { return fmt.Sprintf("\x1b[58:2::%d:%d:%dmx", g.IntN(256), g.IntN(256), g.IntN(256)) })
	}
	return strings.Repeat(g.pick(wideOrJoined), n/16)
}

// many returns n pieces.
func (g grammar) many(n int, piece func() string) string {
	var b strings.Builder
	for range n {
		b.WriteString(piece())
	}
	return b.String()
}

// resize returns a mark that the tests turn into a change of size.
func (g grammar) resize() string {
	switch g.IntN(40) {
	case 0:
		return sizeMark(maxCols, 1+g.IntN(4))
	case 1:
		return sizeMark(1+g.IntN(4), maxRows)
	case 2:
		return sizeMark(80, 24)
	case 3, 4, 5, 6:
		return sizeMark(1+g.IntN(2), 1+g.IntN(3))
	}
	return sizeMark(1+g.IntN(14), 1+g.IntN(8))
}
