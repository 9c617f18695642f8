package screen

// Modes are the settings made by a program that decide the bytes that keys, pasted text and the mouse send. The zero
// value is a terminal that was just switched on.
type Modes struct {
	ApplicationCursor bool // DECCKM (?1): arrows, Home and End send SS3
	ApplicationKeypad bool // DECKPAM (ESC =, ?66): the keypad sends SS3
	BracketedPaste    bool // ?2004: pasted text goes between CSI 200~ and CSI 201~
	AlternateScreen   bool // ?47, ?1047, ?1049
	FocusEvents       bool // ?1004: CSI I and CSI O
	Mouse             MouseMode
	MouseEncoding     MouseEncoding
	NewLine           bool // LNM (20, not a private mode): Enter sends a line feed as well
	BackarrowKey      bool // DECBKM (?67): Backspace sends BS, and with Ctrl DEL
}

// A MouseMode says which events of the mouse are sent to the program.
type MouseMode uint8

const (
	MouseOff    MouseMode = iota
	MouseX10              // ?9: only presses, without modifiers
	MouseNormal           // ?1000: presses, releases, the wheel
	MouseButton           // ?1002: also movement while a button is down
	MouseAny              // ?1003: also movement
)

// A MouseEncoding is the format of mouse events.
type MouseEncoding uint8

const (
	MouseLegacy    MouseEncoding = iota // CSI M and three bytes, each 32 and a number
	MouseUTF8                           // ?1005: the same with characters for bytes
	MouseSGR                            // ?1006: CSI < numbers M, or m for a release
	MouseURXVT                          // ?1015: CSI numbers M
	MouseSGRPixels                      // ?1016: as SGR, in pixels
)

// set switches the private mode n, as xterm does: switching off any mouse mode switches the mouse off, but switching
// off an encoding affects only that encoding.
func (m *Modes) set(n uint16, on bool) {
	if flag := m.flag(n); flag != nil {
		*flag = on
		return
	}
	if !isMouse(n) {
		return
	}
	if mouse, ok := mouseModes[n]; ok {
		m.Mouse = MouseOff
		if on {
			m.Mouse = mouse
		}
	}
	if enc, ok := mouseEncodings[n]; ok && (on || m.MouseEncoding == enc) {
		m.MouseEncoding = MouseLegacy
		if on {
			m.MouseEncoding = enc
		}
	}
}

// isMouse rules out most modes that do not belong to the mouse, at little cost: they come with every second piece of
// output.
func isMouse(n uint16) bool { return n == 9 || n >= 1000 && n <= 1016 }

var mouseModes = map[uint16]MouseMode{9: MouseX10, 1000: MouseNormal, 1002: MouseButton, 1003: MouseAny}

var mouseEncodings = map[uint16]MouseEncoding{1005: MouseUTF8, 1006: MouseSGR, 1015: MouseURXVT, 1016: MouseSGRPixels}

// get reports whether the private mode n is set, and whether it is one of these.
func (m *Modes) get(n uint16) (on, known bool) {
	if flag := m.flag(n); flag != nil {
		return *flag, true
	}
	if mouse, ok := mouseModes[n]; ok {
		return m.Mouse == mouse, true
	}
	enc, ok := mouseEncodings[n]
	return m.MouseEncoding == enc, ok
}

// flag returns the field of the private mode n, if the mode has one of its own.
func (m *Modes) flag(n uint16) *bool {
	switch n {
	case 1:
		return &m.ApplicationCursor
	case 66:
		return &m.ApplicationKeypad
	case 67:
		return &m.BackarrowKey
	case 2004:
		return &m.BracketedPaste
	case 47, 1047, 1049:
		return &m.AlternateScreen
	case 1004:
		return &m.FocusEvents
	}
	return nil
}

// savedModes are the private modes that XTSAVE has saved. It holds only modes that exist.
type savedModes map[int]bool

func (s *savedModes) save(n int, on bool) {
	if *s == nil {
		*s = savedModes{}
	}
	(*s)[n] = on
}

// softReset handles DECSTR, which does not affect the mouse, pasting and the screens.
func (m *Modes) softReset() { m.ApplicationCursor, m.ApplicationKeypad = false, false }
