package screen

// setModes handles SM and RM.
func (t *Terminal) setModes(p *params, on bool) {
	for i := range p.count() {
		switch p.at(i, 0) {
		case 4:
			t.switches.insert = on
		case 20:
			t.modes.NewLine = on
		}
	}
}

// setPrivateModes handles DECSET and DECRST.
func (t *Terminal) setPrivateModes(p *params, on bool) {
	for i := range p.count() {
		t.setPrivateMode(p.at(i, 0), on)
	}
}

func (t *Terminal) setPrivateMode(n int, on bool) {
	switch n {
	case 3:
		t.setColumns(on)
	case 6:
		t.cursor.origin = on
		t.moveTo(0, 0)
	case 12:
		t.steady = !on
	case 47, 1047, 1049:
		t.switchScreen(n, on)
		return
	case 69:
		t.setLeftRight(on)
	case 1048:
		if on {
			t.saveCursor()
		} else {
			t.restoreCursor()
		}
	}
	if s := t.switches.private(n); s != nil {
		s.set(on)
	} else {
		t.modes.set(uint16(n), on)
	}
}

// A privateSwitch is a bool and the value of it that means that the mode is set.
type privateSwitch struct {
	value *bool
	off   bool // the mode is set if the value is false
}

func (s privateSwitch) set(on bool) { *s.value = on != s.off }
func (s privateSwitch) isSet() bool { return *s.value != s.off }

// private returns the switch of a private mode whose change has no further effect.
func (s *switches) private(n int) *privateSwitch {
	switch n {
	case 5:
		return &privateSwitch{&s.reverse, false}
	case 7:
		return &privateSwitch{&s.noWrap, true}
	case 25:
		return &privateSwitch{&s.hidden, true}
	case 40:
		return &privateSwitch{&s.allowColumns, false}
	case 41:
		return &privateSwitch{&s.moreFix, false}
	case 45:
		return &privateSwitch{&s.reverseWrap, false}
	case 95:
		return &privateSwitch{&s.keepOnColumns, false}
	case 1045:
		return &privateSwitch{&s.reverseWrapMore, false}
	case 2026:
		return &privateSwitch{&s.synchronized, false}
	}
	return nil
}

// setColumns handles DECCOLM. A program cannot change the size of its terminal here, because the client sets it: the
// other effects of the change happen all the same.
func (t *Terminal) setColumns(on bool) {
	if !t.switches.allowColumns {
		return
	}
	t.switches.columns132 = on
	t.margins = t.wholeScreen()
	t.switches.leftRight = false
	if !t.switches.keepOnColumns && !t.skims {
		for row := range t.rows {
			t.erase(row, 0, t.cols, false)
		}
	}
	t.moveTo(0, 0)
}

// setLeftRight handles DECLRMM.
func (t *Terminal) setLeftRight(on bool) {
	t.switches.leftRight = on
	t.margins.left, t.margins.right = 0, t.cols-1
}

// switchScreen performs the three modes of the alternate screen as xterm does.
func (t *Terminal) switchScreen(mode int, on bool) {
	t.correctScreen(on)
	if mode == 1049 && on {
		t.saveCursor()
	}
	if mode == 1047 && !on && t.modes.AlternateScreen {
		t.clearAlternate()
	}
	t.showAlternate(on)
	if mode != 1049 {
		return
	}
	if on {
		t.clearAlternate()
	} else {
		t.restoreCursor()
	}
}

// correctScreen is called when a program switches to a screen. If the terminal had to assume which screen was shown,
// because output is missing, and the program now switches to that one, then it was the other one.
func (t *Terminal) correctScreen(to bool) {
	if t.assumed && t.modes.AlternateScreen == to {
		t.screens[0], t.screens[1] = t.screens[1], t.screens[0]
		t.modes.AlternateScreen = !to
		t.grid = &t.screens[t.which()]
		t.history.clear()
	}
	t.assumed = false
}

func (t *Terminal) clearAlternate() {
	if !t.skims {
		t.did(t.screens[1].clear(t.blank()))
		t.changed = true
	}
}

// showAlternate shows one of the screens.
func (t *Terminal) showAlternate(on bool) {
	if t.modes.AlternateScreen == on {
		return
	}
	if on {
		t.left = t.cursor
	}
	t.modes.AlternateScreen = on
	t.grid = &t.screens[t.which()]
	t.changed = true
}

// savePrivateModes handles XTSAVE.
func (t *Terminal) savePrivateModes(p *params) {
	t.did(lookWork * p.count())
	for i := range p.count() {
		if on, known := t.privateState(p.at(i, 0)); known {
			t.savedModes.save(p.at(i, 0), on)
		}
	}
}

// restorePrivateModes handles XTRESTORE.
func (t *Terminal) restorePrivateModes(p *params) {
	t.did(lookWork * p.count())
	for i := range p.count() {
		n := p.at(i, 0)
		saved, ok := t.savedModes[n]
		if on, _ := t.privateState(n); ok && on != saved {
			t.setPrivateMode(n, saved)
		}
	}
}

// privateState reports whether a private mode is set, and whether the mode exists.
func (t *Terminal) privateState(n int) (on, known bool) {
	if s := t.switches.private(n); s != nil {
		return s.isSet(), true
	}
	switch n {
	case 3:
		return t.switches.columns132, true
	case 6:
		return t.cursor.origin, true
	case 12:
		return !t.steady, true
	case 69:
		return t.switches.leftRight, true
	}
	return t.modes.get(uint16(n))
}
