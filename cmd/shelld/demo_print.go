package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// A demoPrinter prints the demo for a person: stories, messages in both directions with the time since the start, and
// the output of programs.
type demoPrinter struct {
	// Immutable:
	width  int
	colour bool
	all    bool // show every member of every message
	start  time.Time

	mu       sync.Mutex // guards the following fields: messages come from two goroutines
	out      io.Writer
	methods  map[string]string // of the requests so far, by ID
	messages int
}

func newDemoPrinter(out io.Writer, width int, colour, all bool) *demoPrinter {
	return &demoPrinter{width: width, colour: colour, all: all, start: time.Now(), out: out, methods: map[string]string{}}
}

// A paint is a style of text on a terminal (SGR parameters).
type paint string

const (
	paintStory  paint = "1"
	paintSent   paint = "1;36" // requests
	paintAnswer paint = "1;32"
	paintEvent  paint = "1;35"
	paintError  paint = "1;31"
	paintFaint  paint = "2"
)

func (p *demoPrinter) paint(how paint, text string) string {
	if !p.colour || text == "" {
		return text
	}
	return "\x1b[" + string(how) + "m" + text + "\x1b[0m"
}

// demoIndent is the column for the parts of a message that do not fit on its first line: it is the column of the
// method.
const demoIndent = 12

// title prints a description of the demo, and how to read it.
func (p *demoPrinter) title(what, how string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lines("", what, paintStory)
	p.lines("", how, paintFaint)
}

// story prints the description of the next step.
func (p *demoPrinter) story(number int, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintln(p.out)
	p.lines(fmt.Sprintf("%2d ", number), text, paintStory)
}

// fact prints an observation that is not a message.
func (p *demoPrinter) fact(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lines(p.clock()+"  ", printable(fmt.Sprintf(format, args...)), "")
}

// finish prints the summary of a successful demo.
func (p *demoPrinter) finish() {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintln(p.out)
	p.lines("", fmt.Sprintf("Every step succeeded: %d messages in %d ms, and nothing is left running.",
		p.messages, time.Since(p.start).Milliseconds()), paintStory)
}

// message prints one message. If it cannot be parsed, it is printed as it is, without an error: the client returns one.
func (p *demoPrinter) message(sent bool, body []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.messages++
	m, err := parseNode(body)
	if err != nil {
		p.lines(p.clock()+"← ", printable(string(body)), paintError)
		return
	}
	v := p.view(sent, m)
	p.head(v)
	if v.text == "" {
		return
	}
	for line := range strings.SplitSeq(terminalText(v.text), "\n") {
		for _, part := range fold(line, p.width-demoIndent-2) {
			fmt.Fprintln(p.out, strings.Repeat(" ", demoIndent)+p.paint(paintFaint, "│ ")+part)
		}
	}
}

// head prints a message without the output of a program in it.
func (p *demoPrinter) head(v demoView) {
	line := p.clock() + p.paint(v.paint, v.arrow+" "+v.method) + p.paint(paintFaint, v.id)
	used := demoIndent + len(v.method) + len(v.id) + 2
	if body := []rune(v.body); used+len(body) <= p.width {
		fmt.Fprintln(p.out, strings.TrimRight(line+"  "+v.body, " "))
		return
	}
	fmt.Fprintln(p.out, line)
	for _, part := range wrap(v.body, p.width-demoIndent) {
		fmt.Fprintln(p.out, strings.Repeat(" ", demoIndent)+part)
	}
}

// clock returns the time since the start as a column.
func (p *demoPrinter) clock() string {
	return fmt.Sprintf("%6d ms ", time.Since(p.start).Milliseconds())
}

// lines prints text after a head, wrapped to the width.
func (p *demoPrinter) lines(head, text string, how paint) {
	for _, line := range wrap(text, p.width-len([]rune(head))) {
		fmt.Fprintln(p.out, head+p.paint(how, line))
		head = strings.Repeat(" ", len([]rune(head)))
	}
}
