package view

import (
	"strings"
	"testing"
)

// Places are found behind wide and combining characters.
func TestPlaceOf(t *testing.T) {
	v := play(32 << 20)
	v.says("世e\u0301x\r\n\x1b[3Cyy\r\n")
	s := v.screen(0)
	text, rows := textOf(s.Lines)
	for want, at := range map[Place]int{
		{0, 0}: strings.Index(string(text), "世"), {0, 2}: strings.Index(string(text), "e"), {0, 3}: strings.Index(string(text), "x"),
		{1, 3}: strings.Index(string(text), "y"), {1, 4}: strings.LastIndex(string(text), "y"),
	} {
		if p := placeOf(s.Lines, rows, int64(at)); *p != want {
			t.Errorf("byte %d is at %+v, want %+v", at, *p, want)
		}
	}
}
