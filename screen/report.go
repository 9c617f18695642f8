package screen

import "fmt"

// The identity that this terminal reports: a VT220 with colours, because its answers are those of xterm and its
// functions more than a VT220's.
const (
	primaryAttributes   = "\x1b[?62;22c"
	secondaryAttributes = "\x1b[>1;10;0c"
	tertiaryAttributes  = "\x1bP!|00000000\x1b\\"
)

// capabilities are the capabilities that XTGETTCAP can query.
var capabilities = map[string]string{"TN": "xterm-256color", "Co": "256", "colors": "256", "RGB": "8"}

// cursorReport answers the part of DSR that only a drawing terminal can answer; before precedes the numbers of the
// answer. A [Scanner] answers all else.
func (t *Terminal) cursorReport(what int, before string) {
	if what == 6 {
		t.did(replyWork)
		row, col := t.place()
		t.reply(fmt.Sprintf("\x1b[%s%d;%dR", before, row+1, col+1))
	}
}

// settingReport answers DECRQSS for the settings that only a drawing terminal knows.
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

// settingAnswer builds the answer to DECRQSS from parameters and the name of the setting.
func settingAnswer(params, of string) string { return "\x1bP1$r" + params + of + "\x1b\\" }

// titleStack performs the title operations of CSI t.
func (t *Terminal) titleStack(op, what int) {
	if title, ok := t.titles.take(op, what, t.title); ok {
		t.setTitle(title)
	}
}
