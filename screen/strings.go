package screen

import "strings"

// osc does what an operating system command asks for, of which the end may be cut.
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

// linkBytes is the longest address of a link, as long as other terminals take.
const linkBytes = 2083

// hyperlink is OSC 8 ; PARAMETERS ; ADDRESS.
func (t *Terminal) hyperlink(arg string) {
	options, address, ok := strings.Cut(arg, ";")
	if !ok || len(address) > linkBytes {
		return
	}
	pen := &t.cursor.pen
	e := t.tables.extras[pen.extra]
	e.link, e.id = strings.Clone(strings.ToValidUTF8(address, "\ufffd")), "" // not the whole that it is a piece of
	for _, o := range strings.Split(options, ":") {
		if id, ok := strings.CutPrefix(o, "id="); ok && address != "" && len(id) <= 250 {
			e.id = strings.Clone(strings.ToValidUTF8(id, "\ufffd"))
		}
	}
	pen.extra = t.extraFor(e)
}

// colours does what the OSC that set and reset colours say. Snapshots have the palette
// before: a copy is changed. Who asks is answered by a [Scanner].
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

// dcs does what a device control string asks for.
func (t *Terminal) dcs(data []byte) {
	if ps := &t.parser; ps.params.n == 0 && ps.key(ps.final) == '$'<<8|'q' {
		t.settingReport(string(data))
	}
}
