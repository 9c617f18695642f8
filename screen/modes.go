package screen

// Modes are what a program has asked of its terminal that decides what keys, pasted
// text and the mouse send. The zero value is a terminal that was just switched on.
type Modes struct {
	ApplicationCursor bool // DECCKM (?1): arrows, Home and End send SS3
	ApplicationKeypad bool // DECKPAM (ESC =, ?66): the keypad sends SS3
	BracketedPaste    bool // ?2004: pasted text goes between CSI 200~ and CSI 201~
	AlternateScreen   bool // ?47, ?1047, ?1049
	FocusEvents       bool // ?1004: CSI I and CSI O
	Mouse             MouseMode
	MouseEncoding     MouseEncoding
}

// A MouseMode says which events of the mouse are told to the program.
type MouseMode uint8

const (
	MouseOff    MouseMode = iota
	MouseX10              // ?9: presses alone, without modifiers
	MouseNormal           // ?1000: presses, releases, the wheel
	MouseButton           // ?1002: also movement while a button is down
	MouseAny              // ?1003: also movement
)

// A MouseEncoding says how they are told.
type MouseEncoding uint8

const (
	MouseLegacy    MouseEncoding = iota // CSI M and three bytes, each 32 and a number
	MouseUTF8                           // ?1005: the same with characters for bytes
	MouseSGR                            // ?1006: CSI < numbers M, or m for a release
	MouseURXVT                          // ?1015: CSI numbers M
	MouseSGRPixels                      // ?1016: as SGR, in pixels
)
