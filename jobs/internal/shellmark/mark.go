package shellmark

import (
	"bytes"
	"strconv"
)

// A Kind says what a mark tells.
type Kind byte

const (
	Ready   Kind = iota + 1 // the shell reads a line now, and keys may be typed
	Loaded                  // what was in the FIFO has been read, and is about to run
	Began                   // a command line is about to run: its output begins here
	Ended                   // it has ended: its output ends here
	Ran                     // hidden code has run; Exit is its status
	Dropped                 // what was loaded has not run, and never will: it was interrupted before
	More                    // bash, zsh: the shell reads the rest of a line that is not whole: type Drop() first
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

// A Mark is one fact that the shell told, at a place in its output.
type Mark struct {
	Kind Kind
	At   int // how many bytes of the returned output stand before it

	// Seq is the number that a payload had: of Loaded, Began, Ended, Dropped and Ran. Of Began and
	// Ended 0 is for what was typed.
	Seq int64

	// Of Ended, and Exit of Ran:
	Exit int
	Cwd  string // $PWD; "" where the shell has none

	// The command line as it was typed, where the shell knows it: zsh and fish tell it with
	// Began, bash with Ended. "" for what came through the FIFO, which the caller knows.
	Text string

	Deaf bool // of Ready: the line editor is off, so that Trigger and HiddenTrigger do nothing
}

// The beginning and the end of a mark. A payload has neither control characters nor
// semicolons but those between its fields: they stand there as %XX.
const (
	opening = "\x1b]633;shelld;"
	closing = '\a'
)

// A payload is what stands between the nonce and the end of a mark:
//
//	R;DEAF                ready; DEAF is off where no line editor reads keys
//	L;SEQ;LINE;AGAIN      loaded; LINE is 1 where a trigger line follows that is to be taken away,
//	                      AGAIN where the editor has erased the prompt's line and draws it again
//	B;SEQ;TEXT            began; SEQ is 0 where it was typed
//	E;SEQ;EXIT;CWD;TEXT   ended
//	D;SEQ                 loaded, and did not run: an interrupt has dropped the line
//	e;EXIT;CWD            what runs has ended; the directory is as it is, up to the end
//	H;SEQ;EXIT;AGAIN      hidden code has run
//	M                     more of a line is read
//
// An interrupt key throws away what the terminal has not given to its reader yet, marks among it. So
// each prompt, and each key that has hidden code run, tells once more what has become of the command
// before (E or D), or that it still runs (B).
//
// parse tells what one says; ok is false for one that the hooks never write.
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

// numbers reads those of a payload: first that of the command, where it has one, and then the status.
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

// redraw is what the editor draws behind a mark, and nobody is to see.
type redraw struct{ line, prompt bool }

// unescape turns %XX back into the bytes that it stands for. What is no such escape stays.
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
