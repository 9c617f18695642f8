package shellmark

import (
	"bytes"
	"strconv"
)

// A Kind is the kind of event that a mark reports.
type Kind byte

const (
	Ready   Kind = iota + 1 // the shell reads a line now, and keys may be typed
	Loaded                  // the FIFO has been read, and its contents are about to run
	Began                   // a command line is about to run: its output begins here
	Ended                   // the command line has ended: its output ends here
	Ran                     // hidden code has run; Exit is its status
	Dropped                 // the loaded command has not run and never will: it was interrupted before
	More                    // bash, zsh: the shell reads the rest of an incomplete line: type Drop() first
)

func (k Kind) String() string {
	switch k {
	case Ready:
		return "ready"
	case Loaded:
		return "loaded"
	case Began:
		return "began"
	case Ended:
		return "ended"
	case Ran:
		return "ran"
	case Dropped:
		return "dropped"
	case More:
		return "more"
	}
	return "Kind(" + strconv.Itoa(int(k)) + ")"
}

// A Mark is an event that the shell reported, with its position in the output.
type Mark struct {
	Kind Kind
	At   int // number of bytes of the returned output before it

	// Seq is the number of the payload: for Loaded, Began, Ended, Dropped and Ran. For Began and Ended, 0 means a typed
	// command.
	Seq int64

	// For Ended, and Exit also for Ran:
	Exit int
	Cwd  string // $PWD; "" if the shell has none

	// Text is the command line as it was typed, if the shell knows it: zsh and fish report it with Began, bash with
	// Ended. It is "" for a command from the FIFO, which the caller knows.
	Text string

	Deaf bool // for Ready: the line editor is off, so that Trigger and HiddenTrigger have no effect
}

// The start and the end of a mark. A payload contains no control characters, and no semicolons except between its
// fields: others are encoded as %XX.
const (
	opening = "\x1b]633;shelld;"
	closing = '\a'
)

// parse decodes a payload, which is the text between the nonce and the end of a mark:
//
//	R;DEAF                ready; DEAF is off if no line editor reads keys
//	L;SEQ;LINE;AGAIN      loaded; LINE is 1 if a trigger line follows that must be removed,
//	                      AGAIN if the editor has erased the prompt's line and draws it again
//	B;SEQ;TEXT            began; SEQ is 0 if it was typed
//	E;SEQ;EXIT;CWD;TEXT   ended
//	D;SEQ                 loaded, and did not run: an interrupt has dropped the line
//	e;EXIT;CWD            the running command has ended; the directory is unescaped, up to the end
//	H;SEQ;EXIT;AGAIN      hidden code has run
//	M                     the rest of an incomplete line is read
//
// An interrupt key discards the output that the terminal has not delivered to its reader yet, including marks.
// Therefore each prompt, and each key that runs hidden code, reports again what happened to the last command (E or D),
// or that it still runs (B).
//
// ok is false for a payload that the hooks never write.
func parse(payload []byte) (m Mark, to redraw, ok bool) {
	fields := bytes.Split(payload, []byte{';'})
	field := func(i int) string {
		if i < len(fields) {
			return unescape(fields[i])
		}
		return ""
	}
	switch field(0) {
	case "R":
		m.Kind, m.Deaf = Ready, field(1) == "off"
	case "M":
		m.Kind = More
	case "D":
		m.Kind = Dropped
	case "L":
		m.Kind = Loaded
		to.line, to.prompt = field(2) == "1", field(3) == "1"
	case "B":
		m.Kind, m.Text = Began, field(2)
	case "E":
		m.Kind, m.Cwd, m.Text = Ended, field(3), field(4)
	case "e":
		m.Kind, m.Cwd = Ended, string(bytes.Join(fields[min(2, len(fields)):], []byte{';'}))
	case "H":
		m.Kind = Ran
		to.prompt = field(3) == "1"
	default:
		return m, to, false
	}
	return m, to, m.numbers(field, payload[0] != 'e')
}

// numbers parses the numbers of a payload: first that of the command, if there is one, then the status.
func (m *Mark) numbers(field func(int) string, numbered bool) (ok bool) {
	if m.Kind == Ready || m.Kind == More {
		return true
	}
	at, err := 1, error(nil)
	if numbered {
		m.Seq, err = strconv.ParseInt(field(at), 10, 64)
		at++
	}
	if err == nil && (m.Kind == Ended || m.Kind == Ran) {
		m.Exit, err = strconv.Atoi(field(at))
	}
	return err == nil && m.Seq >= 0
}

// redraw is output of the editor after a mark that must be removed.
type redraw struct{ line, prompt bool }

// unescape decodes %XX into the byte that it stands for. Anything else stays unchanged.
func unescape(p []byte) string {
	if bytes.IndexByte(p, '%') < 0 {
		return string(p)
	}
	out := make([]byte, 0, len(p))
	for i := 0; i < len(p); i++ {
		if p[i] == '%' && i+2 < len(p) {
			if b, err := strconv.ParseUint(string(p[i+1:i+3]), 16, 8); err == nil {
				out, i = append(out, byte(b)), i+2
				continue
			}
		}
		out = append(out, p[i])
	}
	return string(out)
}
