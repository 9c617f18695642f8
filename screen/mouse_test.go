package screen

import (
	"strings"
	"testing"
)

func TestEncodeMouse(t *testing.T) {
	at := func(a MouseAction, b MouseButtonName) MouseEvent {
		return MouseEvent{Action: a, Button: b, Row: 4, Col: 9}
	}
	far := func(row, col int) MouseEvent {
		return MouseEvent{Action: MousePress, Button: "left", Row: row, Col: col}
	}
	held := at(MousePress, "left")
	held.Shift, held.Alt, held.Ctrl = true, true, true
	for _, c := range []struct {
		name string
		e    MouseEvent
		mode MouseMode
		enc  MouseEncoding
		want string // an error begins with !
	}{
		{"off", at(MousePress, "left"), MouseOff, MouseSGR, "!has not enabled mouse events"},

		{"press", at(MousePress, "left"), MouseNormal, MouseLegacy, "\x1b[M *%"},
		{"press", at(MousePress, "middle"), MouseNormal, MouseLegacy, "\x1b[M!*%"},
		{"press", at(MousePress, "right"), MouseNormal, MouseLegacy, "\x1b[M\"*%"},
		{"release", at(MouseRelease, "left"), MouseNormal, MouseLegacy, "\x1b[M#*%"},
		{"wheel", at(MouseWheelUp, ""), MouseNormal, MouseLegacy, "\x1b[M`*%"},
		{"wheel", at(MouseWheelDown, ""), MouseNormal, MouseLegacy, "\x1b[Ma*%"},
		{"modifiers", held, MouseNormal, MouseLegacy, "\x1b[M<*%"},
		{"the first cell", far(0, 0), MouseNormal, MouseLegacy, "\x1b[M !!"},
		{"the last cell", far(222, 222), MouseNormal, MouseLegacy, "\x1b[M \xff\xff"},
		{"behind it", far(0, 223), MouseNormal, MouseLegacy, "!ends at row and column 222"},
		{"behind it", far(223, 0), MouseNormal, MouseLegacy, "!ends at row and column 222"},

		{"press", at(MousePress, "left"), MouseNormal, MouseUTF8, "\x1b[M *%"},
		{"the last of one byte", far(0, 94), MouseNormal, MouseUTF8, "\x1b[M \x7f!"},
		{"the first of two bytes", far(0, 95), MouseNormal, MouseUTF8, "\x1b[M \u0080!"},
		{"the last cell", far(2014, 2014), MouseNormal, MouseUTF8, "\x1b[M \u07ff\u07ff"},
		{"behind it", far(0, 2015), MouseNormal, MouseUTF8, "!ends at row and column 2014"},

		{"press", at(MousePress, "left"), MouseNormal, MouseSGR, "\x1b[<0;10;5M"},
		{"release", at(MouseRelease, "right"), MouseNormal, MouseSGR, "\x1b[<2;10;5m"},
		{"wheel", at(MouseWheelLeft, ""), MouseNormal, MouseSGR, "\x1b[<66;10;5M"},
		{"wheel", at(MouseWheelRight, ""), MouseNormal, MouseSGR, "\x1b[<67;10;5M"},
		{"modifiers", held, MouseNormal, MouseSGR, "\x1b[<28;10;5M"},
		{"far away", far(9999, 9999), MouseNormal, MouseSGR, "\x1b[<0;10000;10000M"},

		{"press", at(MousePress, "left"), MouseNormal, MouseURXVT, "\x1b[32;10;5M"},
		{"release", at(MouseRelease, "left"), MouseNormal, MouseURXVT, "\x1b[35;10;5M"},

		{"pixels", at(MousePress, "left"), MouseNormal, MouseSGRPixels, "\x1b[<0;77;73M"},
		{"pixels", far(0, 0), MouseNormal, MouseSGRPixels, "\x1b[<0;5;9M"},

		{"press", at(MousePress, "right"), MouseX10, MouseLegacy, "\x1b[M\"*%"},
		{"no modifiers", held, MouseX10, MouseLegacy, "\x1b[M *%"},
		{"release", at(MouseRelease, "left"), MouseX10, MouseLegacy, "!accepts only button presses"},
		{"wheel", at(MouseWheelUp, ""), MouseX10, MouseLegacy, "!accepts only button presses"},

		{"move", at(MouseMove, "left"), MouseNormal, MouseSGR, "!does not accept mouse movement"},
		{"drag", at(MouseMove, "left"), MouseButton, MouseSGR, "\x1b[<32;10;5M"},
		{"move", at(MouseMove, ""), MouseButton, MouseSGR, "!give the button"},
		{"move", at(MouseMove, ""), MouseAny, MouseSGR, "\x1b[<35;10;5M"},
		{"drag", at(MouseMove, "middle"), MouseAny, MouseLegacy, "\x1b[MA*%"},
	} {
		got, err := EncodeMouse(c.e, Modes{Mouse: c.mode, MouseEncoding: c.enc})
		if says, bad := strings.CutPrefix(c.want, "!"); bad {
			if err == nil || !strings.Contains(err.Error(), says) || got != nil {
				t.Errorf("%s %+v: %q, error %v; want one of %q", c.name, c.e, got, err, says)
			}
			continue
		}
		if string(got) != c.want || err != nil {
			t.Errorf("%s %+v: %q, error %v; want %q", c.name, c.e, got, err, c.want)
		}
	}
}
