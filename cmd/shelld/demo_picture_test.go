package main

import (
	"bytes"
	"flag"
	"image"
	"image/gif"
	"image/png"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"shelld.dev/shelld/screen"
)

// root is the directory of the project, seen from this package.
const root = "../.."

var drawDemo = flag.Bool("draw", false, "write docs/images/demo.gif, the recording at the top of the README")

// The recording is a terminal of this size, which shows each screen for this long.
const (
	demoCols, demoRows = 88, 27
	demoDelay          = 350 // hundredths of a second
)

// demoStory begins a step of the demo.
var demoStory = regexp.MustCompile(`^ ?\d+ \x1b\[1m`)

// TestDemoPicture draws what the demo shows in a terminal, as a recording that stops for the reader at the end of
// each step, and wherever the screen is full. With -draw it writes the file that the README shows.
func TestDemoPicture(t *testing.T) {
	needJobs(t)
	var out, log bytes.Buffer
	steps := demoSteps()
	if err := runDemo(watchdog, newDemoPrinter(&out, demoCols, true, false), testServer(&log), steps); err != nil {
		t.Fatalf("%v\n%s", err, log.String())
	}
	term := screen.NewTerminal(demoCols, demoRows, 0)
	recording := &gif.GIF{}
	begun, rows := 0, 0
	frame := func() {
		if rows > 0 {
			recording.Image = append(recording.Image, demoFrame(t, term))
			recording.Delay = append(recording.Delay, demoDelay)
		}
		rows = 0
	}
	for line := range strings.Lines(out.String()) {
		if demoStory.MatchString(line) {
			frame()
			begun++
		}
		if rows++; rows >= demoRows {
			frame()
		}
		term.Write([]byte(strings.ReplaceAll(line, "\n", "\r\n")))
	}
	frame()
	if begun != len(steps) || len(recording.Image) < len(steps) {
		t.Errorf("%d steps and %d pictures were recorded of a demo of %d steps", begun, len(recording.Image), len(steps))
	}
	var file bytes.Buffer
	if err := gif.EncodeAll(&file, recording); err != nil {
		t.Fatal(err)
	}
	if file.Len() > 500<<10 {
		t.Errorf("the recording has %d bytes, too many for the top of a page", file.Len())
	}
	if *drawDemo {
		if err := os.WriteFile(filepath.Join(root, "docs/images/demo.gif"), file.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// demoFrame returns a picture of a terminal.
func demoFrame(t *testing.T, term *screen.Terminal) *image.Paletted {
	t.Helper()
	b, err := term.Snapshot(0).PNG()
	if err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	picture, ok := img.(*image.Paletted)
	if !ok {
		t.Fatalf("a screen with few colours is drawn as %T", img)
	}
	return picture
}
