package screen

import "fmt"

// What this terminal says that it is: a VT220 with colours, as its answers are those
// of xterm and its functions more than a VT220's.
const (
	primaryAttributes   = "\x1b[?62;22c"
	secondaryAttributes = "\x1b[>1;10;0c"
	tertiaryAttributes  = "\x1bP!|00000000\x1b\\"
)

// capabilities are what XTGETTCAP can ask for.
var capabilities = map[string]string{"TN": "xterm-256color", "Co": "256", "colors": "256", "RGB": "8"}

// cursorReport is the part of DSR that only who draws can answer, with what stands before
// the answer's numbers. A [Scanner] answers all else.
func (t *Terminal) cursorReport(what int, before string) {
	if what == 6 {
		t.did(replyWork)
		row, col := t.place()
		t.reply(fmt.Sprintf("\x1b[%s%d;%dR", before, row+1, col+1))
	}
}

// settingReport is DECRQSS, where only who draws can answer.
func (t *Terminal) settingReport(what string) {
	t.did(replyWork)
	switch what {
	case "m":
		t.reply(settingAnswer(t.tables.sgr(t.cursor.pen), what))
	case "r":
		t.reply(settingAnswer(fmt.Sprintf("%d;%d", t.margins.top+1, t.margins.bottom+1), what))
	case "s":
		t.reply(settingAnswer(fmt.Sprintf("%d;%d", t.margins.left+1, t.margins.right+1), what))
	}
}

// settingAnswer answers DECRQSS: parameters, and what of.
func settingAnswer(params, of string) string { return "\x1bP1$r" + params + of + "\x1b\\" }

// titleStack is what CSI t does with titles.
func (t *Terminal) titleStack(op, what int) {
	if title, ok := t.titles.take(op, what, t.title); ok {
		t.setTitle(title)
	}
}
