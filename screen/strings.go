package screen

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// osc does what an operating system command asks for.
func (t *Terminal) osc(data []byte) {
	number, rest, ok := bytes.Cut(data, []byte{';'})
	n, err := strconv.Atoi(string(number))
	if len(number) == 0 {
		n, err = 0, nil
	}
	if err != nil {
		return
	}
	switch {
	case n == 104:
		t.resetColors(string(rest), ok)
	case n >= 110 && n <= 112:
		t.setSpecialColor(n-100, standardPalette())
	case !ok:
	case n == 0, n == 2:
		t.setTitle(cleanTitle(string(rest)))
	case n == 4:
		t.indexedColors(string(rest))
	case n == 8:
		t.hyperlink(string(rest))
	case n >= 10 && n <= 12:
		t.specialColors(n, string(rest))
	}
}

func (t *Terminal) setTitle(title string) {
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

// indexedColors is OSC 4: pairs of a number and a colour, or a question mark.
func (t *Terminal) indexedColors(arg string) {
	fields := strings.Split(arg, ";")
	for i := 0; i+1 < len(fields); i += 2 {
		n, err := strconv.Atoi(fields[i])
		if err != nil || n < 0 || n > 255 {
			continue
		}
		if fields[i+1] == "?" {
			t.reply(fmt.Sprintf("\x1b]4;%d;%s\x1b\\", n, t.palette.Colors[n].spec()))
		} else if c, ok := parseColor(fields[i+1]); ok {
			t.changePalette(func(p *Palette) { p.Colors[n] = c })
		}
	}
}

func (t *Terminal) resetColors(arg string, some bool) {
	if !some || arg == "" {
		t.changePalette(func(p *Palette) { p.Colors = standardPalette().Colors })
		return
	}
	for _, field := range strings.Split(arg, ";") {
		if n, err := strconv.Atoi(field); err == nil && n >= 0 && n < 256 {
			t.changePalette(func(p *Palette) { p.Colors[n] = standardPalette().Colors[n] })
		}
	}
}

// specialColors is OSC 10, 11, 12: foreground, background and cursor, each colour
// behind the first for the next of them.
func (t *Terminal) specialColors(n int, arg string) {
	for _, field := range strings.Split(arg, ";") {
		if n > 12 {
			return
		}
		if field == "?" {
			t.reply(fmt.Sprintf("\x1b]%d;%s\x1b\\", n, t.palette.special(n).spec()))
		} else if c, ok := parseColor(field); ok {
			t.changePalette(func(p *Palette) { *p.special(n) = c })
		}
		n++
	}
}

func (t *Terminal) setSpecialColor(n int, from *Palette) {
	t.changePalette(func(p *Palette) { *p.special(n) = *from.special(n) })
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

// changePalette changes a copy: snapshots have the one before.
func (t *Terminal) changePalette(change func(*Palette)) {
	p := *t.palette
	change(&p)
	if p != *t.palette {
		t.palette, t.changed = &p, true
	}
}

// dcs does what a device control string asks for.
func (t *Terminal) dcs(data []byte) {
	switch t.parser.key(t.parser.final) {
	case '$'<<8 | 'q':
		t.settingReport(string(data))
	case '+'<<8 | 'q':
		t.capabilityReport(string(data))
	}
}
