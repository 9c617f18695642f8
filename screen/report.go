package screen

import (
	"encoding/hex"
	"fmt"
	"strings"
)

// What this terminal says that it is: a VT220 with colours, as its answers are those
// of xterm and its functions more than a VT220's.
const (
	primaryAttributes   = "\x1b[?62;22c"
	secondaryAttributes = "\x1b[>1;10;0c"
	tertiaryAttributes  = "\x1bP!|00000000\x1b\\"
	version             = "\x1bP>|shelld\x1b\\"
)

// deviceAttributes is DA1.
func (t *Terminal) deviceAttributes() { t.reply(primaryAttributes) }

// statusReport is DSR.
func (t *Terminal) statusReport(what int, private bool) {
	row, col := t.place()
	switch {
	case what == 5 && !private:
		t.reply("\x1b[0n")
	case what == 6 && !private:
		t.reply(fmt.Sprintf("\x1b[%d;%dR", row+1, col+1))
	case what == 6:
		t.reply(fmt.Sprintf("\x1b[?%d;%dR", row+1, col+1))
	case what == 15 && private: // there is no printer
		t.reply("\x1b[?13n")
	case what == 25 && private: // user-defined keys are not locked
		t.reply("\x1b[?20n")
	case what == 26 && private: // the keyboard is North American
		t.reply("\x1b[?27;1;0;0n")
	}
}

// query answers the control sequences that only ask.
func (t *Terminal) query(key uint32, p *params) {
	switch key {
	case '>'<<16 | 'c':
		if p.at(0, 0) == 0 {
			t.reply(secondaryAttributes)
		}
	case '='<<16 | 'c':
		if p.at(0, 0) == 0 {
			t.reply(tertiaryAttributes)
		}
	case '>'<<16 | 'q':
		if p.at(0, 0) == 0 {
			t.reply(version)
		}
	case '?'<<16 | 'n':
		t.statusReport(p.at(0, 0), true)
	case '$'<<8 | 'p':
		t.reply(fmt.Sprintf("\x1b[%d;%d$y", p.at(0, 0), t.modeState(p.at(0, 0))))
	case '?'<<16 | '$'<<8 | 'p':
		t.reply(fmt.Sprintf("\x1b[?%d;%d$y", p.at(0, 0), t.privateState(p.at(0, 0))))
	}
}

// What DECRQM answers.
const (
	modeUnknown = 0
	modeSet     = 1
	modeReset   = 2
)

func setOrReset(on bool) int {
	if on {
		return modeSet
	}
	return modeReset
}

func (t *Terminal) modeState(n int) int {
	switch n {
	case 4:
		return setOrReset(t.switches.insert)
	case 20:
		return setOrReset(t.switches.newline)
	}
	return modeUnknown
}

func (t *Terminal) privateState(n int) int {
	if s := t.switches.private(n); s != nil {
		return setOrReset(s.isSet())
	}
	switch n {
	case 3:
		return setOrReset(t.switches.columns132)
	case 6:
		return setOrReset(t.cursor.origin)
	case 12:
		return setOrReset(!t.steady)
	case 69:
		return setOrReset(t.switches.leftRight)
	}
	if on, ok := t.modes.get(uint16(n)); ok {
		return setOrReset(on)
	}
	return modeUnknown
}

// windowOperation answers what programs ask of the window, and keeps titles for them.
func (t *Terminal) windowOperation(p *params) {
	switch what := p.at(1, 0); p.at(0, 0) {
	case 14:
		t.reply(fmt.Sprintf("\x1b[4;%d;%dt", t.rows*cellHeight, t.cols*cellWidth))
	case 16:
		t.reply(fmt.Sprintf("\x1b[6;%d;%dt", cellHeight, cellWidth))
	case 18:
		t.reply(fmt.Sprintf("\x1b[8;%d;%dt", t.rows, t.cols))
	case 19:
		t.reply(fmt.Sprintf("\x1b[9;%d;%dt", t.rows, t.cols))
	case 22:
		if what == 0 || what == 2 {
			if len(t.titles) == titleStack {
				t.titles = t.titles[:copy(t.titles, t.titles[1:])]
			}
			t.titles = append(t.titles, t.title)
		}
	case 23:
		if last := len(t.titles) - 1; last >= 0 && (what == 0 || what == 2) {
			t.setTitle(t.titles[last])
			t.titles = t.titles[:last]
		}
	}
}

// settingReport is DECRQSS.
func (t *Terminal) settingReport(what string) {
	var value string
	switch what {
	case "m":
		value = t.tables.sgr(t.cursor.pen)
	case "r":
		value = fmt.Sprintf("%d;%d", t.margins.top+1, t.margins.bottom+1)
	case "s":
		value = fmt.Sprintf("%d;%d", t.margins.left+1, t.margins.right+1)
	case " q":
		n := 2*int(t.shape) + 1
		if t.steady {
			n++
		}
		value = fmt.Sprint(n)
	case `"q`:
		value = "0"
		if t.cursor.pen.flags&protected != 0 {
			value = "1"
		}
	case `"p`:
		value = "62;1"
	default:
		t.reply("\x1bP0$r\x1b\\")
		return
	}
	t.reply("\x1bP1$r" + value + what + "\x1b\\")
}

// capabilities are what XTGETTCAP can ask for.
var capabilities = map[string]string{"TN": "xterm-256color", "Co": "256", "colors": "256", "RGB": "8"}

// capabilityReport is XTGETTCAP: names in hexadecimal.
func (t *Terminal) capabilityReport(names string) {
	for _, name := range strings.Split(names, ";") {
		plain, err := hex.DecodeString(name)
		if value, ok := capabilities[string(plain)]; ok && err == nil {
			t.reply("\x1bP1+r" + name + "=" + strings.ToUpper(hex.EncodeToString([]byte(value))) + "\x1b\\")
		} else if err == nil {
			t.reply("\x1bP0+r" + name + "\x1b\\")
		}
	}
}
