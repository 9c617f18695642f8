package screen

import "strings"

// osc performs an operating system command, whose end may be cut.
func (t *Terminal) osc(data []byte, cut bool) {
	number, arg, ok := splitCommand(data)
	switch {
	case !ok:
	case setsTitle(number):
		t.setTitle(cleanTitle(arg, t.Clean))
	case cut || hasControl(arg):
	case number == 8:
		t.hyperlink(arg)
	default:
		t.colours(number, arg)
	}
}

func (t *Terminal) setTitle(title string) {
	t.did(len(title))
	if title != t.title {
		t.title, t.changed = title, true
	}
}

// linkBytes is the maximum length of a link's address, as in other terminals.
const linkBytes = 2083

// hyperlink handles OSC 8 ; PARAMETERS ; ADDRESS.
func (t *Terminal) hyperlink(arg string) {
	options, address, ok := strings.Cut(arg, ";")
	if !ok || len(address) > linkBytes {
		return
	}
	pen := &t.cursor.pen
	e := t.tables.extras[pen.extra]
	e.link, e.id = strings.Clone(strings.ToValidUTF8(address, "\ufffd")), "" // do not keep the whole string in memory
	for _, o := range strings.Split(options, ":") {
		if id, ok := strings.CutPrefix(o, "id="); ok && address != "" && len(id) <= 250 {
			e.id = strings.Clone(strings.ToValidUTF8(id, "\ufffd"))
		}
	}
	pen.extra = t.extraFor(e)
}

// colours handles the OSC that set and reset colours. Snapshots share the old palette, so a copy is changed. A
// [Scanner] answers the queries.
func (t *Terminal) colours(number int, arg string) {
	t.did(paletteWork)
	p := *t.palette
	for c := range colourCommands(number, arg) {
		t.did(lineWork)
		if !c.asks {
			*p.at(c.place) = c.to
		}
	}
	if p != *t.palette {
		t.palette, t.changed = &p, true
	}
}

func (p *Palette) special(n int) *Color {
	switch n {
	case 10:
		return &p.Foreground
	case 11:
		return &p.Background
	}
	return &p.Cursor
}

// dcs performs a device control string.
func (t *Terminal) dcs(data []byte) {
	if ps := &t.parser; ps.params.n == 0 && ps.key(ps.final) == '$'<<8|'q' {
		t.settingReport(string(data))
	}
}
