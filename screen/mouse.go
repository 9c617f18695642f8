package screen

import (
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// A MouseEvent is an event of the mouse.
type MouseEvent struct {
	Action   MouseAction
	Button   MouseButtonName // of a press and a release; of a move, the one that is down
	Row, Col int             // from 0
	Shift    bool
	Alt      bool
	Ctrl     bool
}

// A MouseAction is the kind of an event.
type MouseAction string

const (
	MousePress      MouseAction = "press"
	MouseRelease    MouseAction = "release"
	MouseMove       MouseAction = "move"
	MouseWheelUp    MouseAction = "wheelUp"
	MouseWheelDown  MouseAction = "wheelDown"
	MouseWheelLeft  MouseAction = "wheelLeft"
	MouseWheelRight MouseAction = "wheelRight"
)

// A MouseButtonName is a button of the mouse; "" is none.
type MouseButtonName string

const (
	MouseLeft   MouseButtonName = "left"
	MouseMiddle MouseButtonName = "middle"
	MouseRight  MouseButtonName = "right"
)

// The button numbers of xterm. A turn of a wheel is a press of a button too.
var (
	mouseButtons = map[MouseButtonName]int{MouseLeft: 0, MouseMiddle: 1, MouseRight: 2, "": mouseNoButton}
	mouseWheels  = map[MouseAction]int{MouseWheelUp: 64, MouseWheelDown: 65, MouseWheelLeft: 66, MouseWheelRight: 67}
)

// Values added to the button's number.
const (
	mouseNoButton = 3
	mouseShift    = 4
	mouseAlt      = 8
	mouseCtrl     = 16
	mouseMotion   = 32
)

// The highest number that fits into a byte, and into a character of two bytes: each number is sent with 32 added, so
// that it is not a control character.
const (
	mouseLegacyMax = 255 - 32
	mouseUTF8Max   = 0x7ff - 32
)

// EncodeMouse returns the bytes that a terminal in these modes sends for an event. If it sends nothing, the error
// explains to the user why.
func EncodeMouse(e MouseEvent, m Modes) ([]byte, error) {
	if err := e.heard(m.Mouse); err != nil {
		return nil, err
	}
	button := e.number()
	if m.Mouse == MouseX10 {
		return encodeMouse(button, e, m.MouseEncoding)
	}
	for _, mod := range []struct {
		on  bool
		bit int
	}{{e.Shift, mouseShift}, {e.Alt, mouseAlt}, {e.Ctrl, mouseCtrl}} {
		if mod.on {
			button |= mod.bit
		}
	}
	return encodeMouse(button, e, m.MouseEncoding)
}

// number returns the event's button number, with the bit for a movement.
func (e MouseEvent) number() int {
	if n, ok := mouseWheels[e.Action]; ok {
		return n
	}
	n := mouseButtons[e.Button]
	if e.Action == MouseMove {
		n |= mouseMotion
	}
	return n
}

// heard returns an error if the mode does not send the event to the program.
func (e MouseEvent) heard(mode MouseMode) error {
	switch {
	case mode == MouseOff:
		return errors.New("the program has not enabled mouse events; wait until it does, or use its keys")
	case mode == MouseX10 && e.Action != MousePress:
		return errors.New("the program accepts only button presses (mouse mode 9)")
	case e.Action == MouseMove && mode == MouseNormal:
		return errors.New("the program does not accept mouse movement (mouse mode 1000)")
	case e.Action == MouseMove && mode == MouseButton && e.Button == "":
		return errors.New("the program accepts mouse movement only while a button is down (mouse mode 1002); give the button")
	}
	return nil
}

func encodeMouse(button int, e MouseEvent, enc MouseEncoding) ([]byte, error) {
	x, y := e.Col+1, e.Row+1
	switch enc {
	case MouseSGR, MouseSGRPixels:
		final := byte('M')
		if e.Action == MouseRelease {
			final = 'm'
		}
		if enc == MouseSGRPixels { // the middle of the cell, in pixels as CSI 16 t reports them
			x, y = e.Col*cellWidth+cellWidth/2+1, e.Row*cellHeight+cellHeight/2+1
		}
		return append(mouseNumbers("\x1b[<", button, x, y), final), nil
	}
	if e.Action == MouseRelease {
		button |= mouseNoButton // these encodings do not say which button was released
	}
	switch enc {
	case MouseURXVT:
		return append(mouseNumbers("\x1b[", button+32, x, y), 'M'), nil
	case MouseUTF8:
		if err := mouseReach(x, y, mouseUTF8Max); err != nil {
			return nil, err
		}
		out := []byte("\x1b[M")
		for _, n := range []int{button, x, y} {
			out = utf8.AppendRune(out, rune(n+32))
		}
		return out, nil
	}
	if err := mouseReach(x, y, mouseLegacyMax); err != nil {
		return nil, err
	}
	return []byte{0x1b, '[', 'M', byte(button + 32), byte(x + 32), byte(y + 32)}, nil
}

func mouseNumbers(begin string, button, x, y int) []byte {
	out := strconv.AppendInt([]byte(begin), int64(button), 10)
	for _, n := range []int{x, y} {
		out = strconv.AppendInt(append(out, ';'), int64(n), 10)
	}
	return out
}

// mouseReach returns an error for a position outside the range of the encoding.
func mouseReach(x, y, limit int) error {
	if x <= limit && y <= limit {
		return nil
	}
	return fmt.Errorf("the program's mouse encoding ends at row and column %d", limit-1)
}
