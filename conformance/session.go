package conformance

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
)

// levels are those of protocol section 12.
var levels = []string{"core", "trees", "terminal", "store", "policy", "sessions"}

// shared is the level of the sessions that have several clients and connections.
const shared = "sessions"

// A Session is the content of one session file: messages to send, and the messages that must come back.
type Session struct {
	Name     string // the file's name without .txtar, with its directory
	Prose    string // the description
	Protocol string // the sentence that it tests
	Level    string
	Needs    []Need
	Lacks    []Need   // capabilities that the server must not have
	Framings []string // "header", "line"
	Args     []string // arguments appended to the server's command

	file  string
	bad   error // the error in the file, if there are no steps
	last  int   // the number of the last line
	cold  bool  // the runner does not initialize the server
	steps []step
}

// A Need is a requirement of a session on the server or the machine.
type Need struct {
	Kind  string // mode, method, event, condition, program, …
	Value string
}

// A step is one section of a session.
type step struct {
	position
	verb   string
	name   string // of the request, for send, answer and error; the label of an expect
	words  []string
	within time.Duration // 0: the runner's default

	items   []item            // messages: to send, or expected
	v       value             // another value in the body
	more    value             // after =>
	content string            // of raw and frame
	ids     map[string]string // of the requests in content, by name
	output  *outputStep
}

// An item is a method, and its params or a pattern for them; or, in expected messages, the answer to a request.
type item struct {
	position
	method string // or answer, error
	name   string // of the request, for answer and error
	id     value  // the id in its spelling, or a pattern for the id of a server's request
	params value  // nil: none, or any
}

func (it item) String() string {
	if it.name != "" {
		return it.method + " " + it.name
	}
	return it.method
}

// A verbSpec describes the section of a verb.
type verbSpec struct {
	usage string
	parse func(*step, []string, section) error
	waits bool // takes within
}

// A section is a step's body.
type section struct {
	file string
	line int
	body string
}

var verbs map[string]verbSpec

func init() {
	verbs = map[string]verbSpec{
		"initialize": {"initialize", parseInitialize, true},
		"send":       {"send NAME [invalid|unanswered]", parseSend, false},
		"notify":     {"notify [invalid]", parseNotify, false},
		"frame":      {"frame [NAME=ID]...", parseContent, false},
		"raw":        {"raw [NAME=ID]...", parseContent, false},
		"answer":     {"answer NAME", parseAnswer, true},
		"error":      {"error NAME, error NAME or null, or error null", parseError, true},
		"expect":     {"expect [next|unordered] [of LABEL]", parseExpect, true},
		"never":      {"never [until NAME]", parseNever, false},
		"count":      {"count N", parseCount, false},
		"output":     {"output HANDLE [STREAM] [contains|ends] [from OFFSET]", parseOutput, true},
		"bytes":      {"bytes HANDLE STREAM", parseBytes, true},
		"reply":      {"reply METHOD [unanswered]", parseReply, false},
		"let":        {"let NAME", parseLet, false},
		"close":      {"close stdin", parseWords, false},
		"stall":      {"stall", parseWords, false},
		"resume":     {"resume", parseWords, false},
		"exit":       {"exit STATUS, or exit any", parseExit, true},
		"signal":     {"signal NAME", parseSignal, false},
		"gone":       {"gone", parseGone, true},
		"client":     {"client NAME [uninitialized]", parseClient, false},
		"cut":        {"cut", parseWords, false},
	}
}

// Parse reads a session file.
func Parse(name string, data []byte) (*Session, error) {
	s := &Session{Name: strings.TrimSuffix(name, ".txtar"), Level: "core", Framings: []string{"header", "line"}, file: name}
	data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")) // Some editors write CRLF.
	if i := slices.IndexFunc(bytes.Split(data, []byte("\n")), func(l []byte) bool { return string(l) == "-- --" }); i >= 0 {
		return nil, &syntaxError{position{name, i + 1, 1}, "expected a verb, as in -- send start --"} // txtar panics on this.
	}
	if err := strayHeader(name, string(data)); err != nil {
		return nil, err
	}
	a := txtar.Parse(data)
	if err := s.preamble(name, string(a.Comment)); err != nil {
		return nil, err
	}
	line := 1 + strings.Count(string(a.Comment), "\n")
	for _, f := range a.Files {
		st, err := parseStep(name, line, f.Name, string(f.Data))
		if err != nil {
			return nil, err
		}
		s.steps = append(s.steps, *st)
		line += 1 + strings.Count(string(f.Data), "\n")
	}
	s.last = line - 1
	if len(s.steps) == 0 {
		return nil, &syntaxError{position{name, line, 1}, "expected at least one step, as in -- send start --"}
	}
	return s, s.check()
}

// Steps returns the number of steps of the session.
func (s *Session) Steps() int { return len(s.steps) }

// preamble parses the text before the first step: prose, then keys.
func (s *Session) preamble(file, comment string) error {
	keys := map[string]func(position, string) error{
		"protocol": func(_ position, v string) error { s.Protocol = v; return nil },
		"level":    s.setLevel,
		"needs":    func(pos position, v string) error { return addNeeds(&s.Needs, needKinds, pos, v) },
		"lacks":    func(pos position, v string) error { return addNeeds(&s.Lacks, serverKinds, pos, v) },
		"framing":  s.setFraming,
		"args":     func(_ position, v string) error { s.Args = strings.Fields(v); return nil },
		"initialize": func(pos position, v string) error {
			s.cold = v == "no"
			if !s.cold {
				return &syntaxError{pos, "expected no, or no such line: then the runner initializes the server"}
			}
			return nil
		},
	}
	var prose []string
	seen := map[string]bool{}
	for i, l := range strings.Split(comment, "\n") {
		pos := position{file, i + 1, 1}
		key, v, ok := strings.Cut(l, ":")
		if !ok || key == "" || strings.Trim(key, "abcdefghijklmnopqrstuvwxyz") != "" {
			if len(seen) > 0 && strings.TrimSpace(l) != "" {
				return &syntaxError{pos, "expected a key, as in level: core; prose stands before the first of them"}
			}
			prose = append(prose, l)
			continue
		}
		set := keys[key]
		if set == nil {
			return &syntaxError{pos, fmt.Sprintf("there is no key %q; those there are: protocol, level, needs, lacks, framing, args, initialize (write prose so that no line of it begins with a word and a colon)", key)}
		}
		if seen[key] && key != "needs" && key != "lacks" {
			return &syntaxError{pos, "the key " + key + " is there already"}
		}
		seen[key] = true
		if err := set(pos, strings.TrimSpace(v)); err != nil {
			return err
		}
	}
	s.Prose = strings.TrimSpace(strings.Join(prose, "\n"))
	if s.Prose == "" {
		return &syntaxError{position{file, 1, 1}, "expected a sentence that says what is shown"}
	}
	return nil
}

func (s *Session) setLevel(pos position, v string) error {
	if !slices.Contains(levels, v) {
		return &syntaxError{pos, fmt.Sprintf("there is no level %q; those there are: %s", v, strings.Join(levels, ", "))}
	}
	s.Level = v
	return nil
}

func (s *Session) setFraming(pos position, v string) error {
	switch v {
	case "both":
	case "header", "line":
		s.Framings = []string{v}
	default:
		return &syntaxError{pos, fmt.Sprintf("there is no framing %q; write header, line or both", v)}
	}
	return nil
}

// serverKinds are the kinds of need that the server's capabilities can meet. needKinds also has those of the
// machine.
var (
	serverKinds = []string{"mode", "method", "event", "condition", "signal", "key", "encoding", "readFormat", "waitFormat", "query", "shellIntegration", "limit", "inputDetection", "capability"}
	needKinds   = append(slices.Clone(serverKinds), "platform", "program")
)

func addNeeds(to *[]Need, kinds []string, pos position, v string) error {
	for part := range strings.SplitSeq(v, ",") {
		kind, what, ok := strings.Cut(strings.TrimSpace(part), " ")
		if !ok || !slices.Contains(kinds, kind) {
			return &syntaxError{pos, fmt.Sprintf("expected a kind and a value, as in mode pty, found %q; the kinds are %s", part, strings.Join(kinds, ", "))}
		}
		*to = append(*to, Need{kind, strings.TrimSpace(what)})
	}
	return nil
}

func parseStep(file string, line int, header, body string) (*step, error) {
	words := strings.Fields(header)
	pos := position{file, line, 1}
	if len(words) == 0 {
		return nil, &syntaxError{pos, "expected a verb"}
	}
	spec, ok := verbs[words[0]]
	if !ok {
		return nil, &syntaxError{pos, fmt.Sprintf("there is no verb %q; those there are: %s", words[0], strings.Join(verbNames(), ", "))}
	}
	st := &step{position: pos, verb: words[0]}
	words = words[1:]
	if n := len(words); spec.waits && n >= 2 && words[n-2] == "within" {
		d, err := time.ParseDuration(words[n-1])
		if err != nil || d <= 0 {
			return nil, &syntaxError{pos, fmt.Sprintf("expected a time after within, as in 5s, found %q", words[n-1])}
		}
		st.within, words = d, words[:n-2]
	}
	err := spec.parse(st, words, section{file, line + 1, body})
	if err == errUsage {
		err = &syntaxError{pos, "expected -- " + spec.usage + " --"}
	}
	return st, err
}

func verbNames() []string {
	var all []string
	for v := range verbs {
		all = append(all, v)
	}
	slices.Sort(all)
	return all
}

// check rejects mistakes that are visible before anything is run.
func (s *Session) check() error {
	sent := map[string]bool{"initialize": !s.cold}
	for i := range s.steps {
		st := &s.steps[i]
		for _, name := range st.sends() {
			if sent[name] && st.verb != "initialize" { // each connection is initialized
				return &syntaxError{st.position, fmt.Sprintf("a request %q is sent already; each needs a name of its own", name)}
			}
			sent[name] = true
		}
		if err := st.refersTo(sent); err != nil {
			return err
		}
	}
	return s.checkStart()
}

// sends returns the names of the requests that a step sends.
func (st *step) sends() []string {
	switch st.verb {
	case "send":
		return []string{st.name}
	case "initialize":
		return []string{"initialize"}
	}
	return slices.Sorted(maps.Keys(st.ids))
}

// refersTo rejects names of requests that were not sent before. never until may name a request that is sent
// later.
func (st *step) refersTo(sent map[string]bool) error {
	unknown := func(pos position, name string) error {
		return &syntaxError{pos, fmt.Sprintf("no request %q was sent before; expected -- send %s --", name, name)}
	}
	if (st.verb == "answer" || st.verb == "error") && !sent[st.name] && st.name != "null" {
		return unknown(st.position, st.name)
	}
	for _, it := range st.items {
		if st.verb == "expect" && it.name != "" && !sent[it.name] {
			return unknown(it.position, it.name)
		}
	}
	return nil
}

// checkStart checks that the server is initialized if its capabilities are needed, and at most once if by the
// runner.
func (s *Session) checkStart() error {
	first := s.steps[0].position
	for i, st := range s.steps {
		if st.verb == "initialize" && (s.cold || !s.begins(i)) {
			return &syntaxError{st.position, "the step initialize comes first, or right after client NAME, and without initialize: no; to send the request otherwise, write initialize: no, or client NAME uninitialized, and -- send NAME --"}
		}
		if (st.verb == "client" || st.verb == "cut") && s.Level != shared {
			return &syntaxError{st.position, "the step " + st.verb + " is for sessions with level: " + shared + ", which have several connections"}
		}
	}
	for _, n := range slices.Concat(s.Needs, s.Lacks) {
		if s.cold && n.Kind != "platform" && n.Kind != "program" {
			return &syntaxError{first, "with initialize: no the server's capabilities are not known; needs can only be of a platform or program, and lacks of nothing"}
		}
	}
	return nil
}

// begins reports whether a step is the first one of a connection, apart from those that only prepare the runner.
func (s *Session) begins(i int) bool {
	for i--; i >= 0 && s.steps[i].prepares(); i-- {
	}
	return i < 0 || s.steps[i].verb == "client"
}

// prepares reports whether a step sends and awaits nothing.
func (st *step) prepares() bool { return st.verb == "reply" || st.verb == "let" }

func integer(s string) (int64, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}
