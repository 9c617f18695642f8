package record

import (
	"cmp"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"shelld.dev/shelld/conformance"
	"shelld.dev/shelld/conformance/internal/wire"
)

// A composer writes a story as a session. The client's messages keep their order. Before each of them, the
// session expects everything that the client had received by then: it may have caused the message, and in a
// replay the message is sent in any case. The server's messages between two messages of the client are expected
// per job and per answer, since their order may differ in a replay.
type composer struct {
	*story
	contract *conformance.Contract
	options  Options
	vault    *vault
	setting  setting

	steps   strings.Builder
	notes   []string
	needs   map[string]bool
	level   string
	fixed   bool // raw bytes belong to one framing only
	segment []*beat
	last    time.Duration // when the client sent its last message
	ending  bool          // the client has asked the server to end
	closed  bool          // stdin is closed
	bound   map[*cast]bool
	watches map[string]string // the variables of watches, by job and number
	nexts   map[string]string // the variables of offsets, by job and number
	waits   map[string]string // the variables of waits for input, by job and waitId
	awaited map[string]bool   // waits for input that the session has awaited
	thinned map[string]bool   // watches with omitted matches
}

// compose turns a tape into a session, and returns notes for the user to check.
func compose(contract *conformance.Contract, options Options, set setting, entries []taped, framing string) (text []byte, notes []string) {
	s := understand(entries, framing)
	for _, b := range s.beats {
		if b.dir == wire.FromServer {
			set.learn(b.msg.V)
		}
	}
	set.addPath(s.root)
	slices.SortFunc(set.paths, func(a, b string) int { return len(b) - len(a) })
	c := &composer{
		story: s, contract: contract, options: options, setting: set, level: cmp.Or(options.Level, "core"), needs: map[string]bool{},
		bound: map[*cast]bool{}, watches: map[string]string{}, nexts: map[string]string{}, thinned: map[string]bool{},
		waits: map[string]string{}, awaited: map[string]bool{},
	}
	c.vault = lock(s)
	c.prepare()
	for _, b := range s.beats {
		if b.dir == wire.FromServer && b.kind != tapeExit {
			c.segment = append(c.segment, b)
			continue
		}
		c.flush(b)
		if b.kind == tapeExit {
			c.end(b)
		} else {
			c.client(b)
		}
	}
	c.flush(&beat{index: len(s.beats)})
	if c.steps.Len() == 0 {
		c.step("close stdin", "")
		c.note("the client has sent nothing")
	}
	return []byte(c.preamble() + c.steps.String()), c.notes
}

// prepare collects facts that are needed before the first step is written.
func (c *composer) prepare() {
	if c.warm && c.contract.Refuses("initialize", c.asked[0].params) {
		c.warm = false
	}
	for _, j := range c.jobs {
		for _, t := range j.streams {
			for _, m := range t.masks {
				t.taint = min(t.taint, m.from)
			}
			at := t.base
			t.words = c.setting.generalise(t.text(t.base, t.end()))
			for _, w := range t.words {
				if w.varies {
					t.taint = min(t.taint, at)
				}
				at += int64(len(w.text))
			}
		}
	}
	for _, b := range c.beats {
		if o, ok := b.msg.Params.(map[string]any); ok && b.msg.Method == "job/patternMatched" && o["suppressed"] != nil {
			c.thinned[wire.Show(o["handle"])+" "+wire.Show(o["watchId"])] = true
		}
	}
}

// step writes one step.
func (c *composer) step(header, body string) {
	c.steps.WriteString("-- " + header + " --\n")
	if body != "" {
		c.steps.WriteString(strings.TrimSuffix(body, "\n") + "\n")
	}
}

// note adds a note for the user, in the preamble and at the end of the recording.
func (c *composer) note(format string, args ...any) {
	if n := fmt.Sprintf(format, args...); !slices.Contains(c.notes, n) {
		c.notes = append(c.notes, n)
	}
}

// preamble returns the part before the first step.
func (c *composer) preamble() string {
	var b strings.Builder
	prose := c.options.Prose
	if prose == "" {
		prose = c.prose()
	}
	for line := range strings.Lines(prose) {
		if word, _, _ := strings.Cut(line, ":"); strings.Trim(word, "abcdefghijklmnopqrstuvwxyz") == "" {
			line = " " + line // so that it is not taken for a key
		}
		b.WriteString(line)
	}
	b.WriteString("\n")
	for _, n := range c.notes {
		b.WriteString("(look here) " + strings.ReplaceAll(c.vault.redact(n), "\n", " ") + "\n")
	}
	b.WriteString("\nprotocol: \"nothing is lost, repeated or reordered\" (section 5)\nlevel: " + c.level + "\n")
	if len(c.needs) > 0 {
		b.WriteString("needs: " + strings.Join(slices.Sorted(maps.Keys(c.needs)), ", ") + "\n")
	}
	if c.fixed {
		b.WriteString("framing: " + cmp.Or(c.framing, "line") + "\n")
	}
	if !c.warm {
		b.WriteString("initialize: no\n")
	}
	return b.String() + "\n"
}

// prose names the client and the programs that it ran.
func (c *composer) prose() string {
	client := "a client"
	var programs []string
	for _, a := range c.asked {
		info, _ := a.params["clientInfo"].(map[string]any)
		if name, ok := info["name"].(string); ok && a.method == "initialize" && name != "" {
			client = name
		}
		argv, _ := a.params["argv"].([]any)
		word, _ := a.params["command"].(string)
		if len(argv) > 0 {
			word, _ = argv[0].(string)
		}
		if word, _, _ = strings.Cut(word, " "); (a.method == "job/start" || a.method == "job/run") && word != "" && !slices.Contains(programs, word) {
			programs = append(programs, word)
		}
	}
	prose := "Recorded while " + client + " drove " + strings.Join(programs, ", ") + "."
	if len(programs) == 0 {
		prose = "Recorded while " + client + " spoke to the server."
	}
	return c.vault.redact(strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, prose))
}

// client writes the step for an entry of the client.
func (c *composer) client(b *beat) {
	c.last = b.at
	c.replies(b)
	switch {
	case b.kind == tapeEnd:
		c.ending = true
		if !c.closed { // Both forwarding goroutines may note it.
			c.step("close stdin", "")
		}
		c.closed = true
	case b.kind == tapeSignal:
		c.ending = true
		c.step("signal "+string(b.raw), "")
	case b.kind == tapeOverflow:
		c.note("the recording was cut here: more than %d MiB went over the wire", mostTaped>>20)
	case b.kind == tapeRaw:
		c.raw("raw", b.raw)
	case b.bad:
		c.frame(b)
	case b.msg.Kind == wire.KindRequest && c.warm && b.ask == c.asked[0]:
		c.initialize(b)
	case b.msg.Kind == wire.KindRequest:
		c.send(b)
	case b.msg.Kind == wire.KindNotification && c.warm && b.msg.Method == "initialized" && b.index == c.secondOfClient():
	case b.msg.Kind == wire.KindNotification:
		c.ending = c.ending || b.msg.Method == "exit"
		c.step("notify"+c.validity(b), c.message(b, ""))
	}
	c.unsettle(b)
}

// secondOfClient returns the index of the initialized message in a session that begins in the recommended way.
func (c *composer) secondOfClient() int {
	n := 0
	for _, b := range c.beats {
		if b.dir == wire.ToServer {
			if n++; n == 2 {
				return b.index
			}
		}
	}
	return -1
}

// unsettle marks the streams of jobs that a message ends: their later output depends on timing.
func (c *composer) unsettle(b *beat) {
	if b.dir != wire.ToServer || b.msg.Method == "job/write" || b.msg.Method == "job/signal" {
		return
	}
	for _, j := range c.jobs {
		if !j.addressed(b) || j.closed != nil && j.closed.index < b.index {
			continue
		}
		for _, name := range wire.Streams {
			j.track(name).wild = true
		}
	}
}

// validity returns the word that says that the schema must reject a message, or "".
func (c *composer) validity(b *beat) string {
	if c.contract.Refuses(b.msg.Method, b.msg.Params) {
		return " invalid"
	}
	return ""
}

func (c *composer) send(b *beat) {
	a := b.ask
	a.known = map[*track]int64{}
	for _, j := range c.jobs {
		for _, t := range j.streams {
			a.known[t] = t.sure
		}
	}
	id := ""
	if a.spell {
		id = c.idOf(a)
	}
	body := c.message(b, id)
	c.step("send "+a.name+c.validity(b), body)
	if wait, _ := a.params["wait"].(map[string]any); a.ahead && wait != nil {
		c.note("%s was typed before anything was heard of what was typed before: what both bring may come otherwise", a.name)
	}
	c.need(a)
}

// idOf returns the spelling of a request's id in the session. A number is turned into a string, so that the
// runner's own numbers cannot collide with it.
func (c *composer) idOf(a *asked) string {
	if n, err := strconv.ParseUint(a.id, 10, 53); err == nil && strconv.FormatUint(n, 10) == a.id {
		return `"r` + a.id + `"`
	}
	return a.id
}

// message returns the body of a step that sends a message.
func (c *composer) message(b *beat, id string) string {
	params := c.params(b)
	c.lets(writeLine(params))
	body := b.msg.Method
	if id != "" {
		body += "\nid: " + id
	}
	if _, there := b.msg.V["params"]; there && params != nil {
		sep := " "
		if id != "" {
			sep = "\n"
		}
		body += sep + writeValue(params, "")
	}
	return body
}

// lets writes the let steps for the secrets in a body.
func (c *composer) lets(body string) {
	for _, x := range c.vault.secrets {
		if x.variable != "" && !x.told && strings.Contains(body, x.variable) {
			x.told = true
			c.step("let "+x.variable, "// What was typed is not recorded. Put something here if the program must accept it.\n"+string(wire.Encode(masked(x.text))))
			c.note("secrets are not recorded: where a program must accept one, give its variable ($secret1, …) a value that it accepts")
		}
	}
}

// frame writes a message of the framing that is not a valid protocol message.
func (c *composer) frame(b *beat) {
	text := c.vault.redact(string(b.raw))
	names := ""
	if b.ask != nil && b.ask.answer != nil && !strings.ContainsAny(b.ask.id, " \t") {
		names = " " + b.ask.name + "=" + b.ask.id
	}
	_, stray := conformance.MeantAsHeader(text)
	if strings.ContainsAny(text, "\r\n") || !utf8.ValidString(text) || text == "" || strings.HasPrefix(text, "-- ") || stray {
		c.raw("raw"+names, wire.Frame(cmp.Or(c.framing, "line"), []byte(text)))
		return
	}
	c.step("frame"+names, text)
}

// raw writes bytes as a step without framing.
func (c *composer) raw(header string, data []byte) {
	c.fixed = true
	var b strings.Builder
	column := 0
	data = []byte(c.vault.redact(string(data)))
	for i, r := range data {
		s := string(rune(r))
		switch {
		case r == '\n':
			s = `\n`
		case r == '\r':
			s = `\r`
		case r == '\t':
			s = `\t`
		case r == '\\':
			s = `\\`
		case r < ' ' || r > '~' || r == '-' && (column == 0 || data[i-1] == '-'): // so that no line looks like a header
			s = fmt.Sprintf(`\x%02x`, r)
		}
		b.WriteString(s)
		if column += len(s); (r == '\n' || column > widest) && i < len(data)-1 {
			b.WriteByte('\n')
			column = 0
		}
	}
	c.step(header, b.String())
}

// replies writes the client's answers to those requests of the server that come before its next message: in a
// replay they may come at once.
func (c *composer) replies(b *beat) {
	if b.msg.Kind == wire.KindResponse || b.kind != tapeFrame {
		return
	}
	for _, r := range c.beats[b.index+1:] {
		if r.dir == wire.ToServer && r.msg.Kind != wire.KindResponse {
			return
		}
		if r.dir != wire.FromServer || r.msg.Kind != wire.KindRequest {
			continue
		}
		c.replied(r)
	}
}

// replied writes the client's answer to a request of the server. It skips refusals: the player refuses by itself.
func (c *composer) replied(r *beat) {
	pattern := c.generic(r.msg.Params, false)
	if o, ok := pattern.(map[string]any); ok {
		delete(o, "waitId") // its spelling is the server's choice
	}
	for _, own := range c.beats[r.index:] {
		switch m := own.msg; {
		case own.kind != tapeFrame || own.bad:
		case own.dir == wire.ToServer && m.Kind == wire.KindResponse && m.ID == r.msg.ID:
			if m.Err == nil {
				body := writeValue(pattern, "") + "\n=>\n" + writeValue(c.plain(m.Result), "")
				c.lets(body)
				c.step("reply "+r.msg.Method, body)
			}
			return
		case own.dir == wire.FromServer && m.Method == "$/cancelRequest":
			if o, _ := m.Params.(map[string]any); string(wire.Encode(o["id"])) == r.msg.ID {
				c.step("reply "+r.msg.Method+" unanswered", writeValue(pattern, ""))
				return
			}
		}
	}
}

// end writes how the server ended.
func (c *composer) end(b *beat) {
	status := string(b.raw)
	if !c.ending {
		c.note("the server ended by itself here, with exit status %s", status)
		return
	}
	if n, _ := strconv.Atoi(status); n < 126 {
		c.step("exit "+status, "")
	} else {
		c.note("the server was ended by a signal (exit status %s)", status)
	}
}

// quiet lists the programs that the sessions assume on every machine.
var quiet = []string{"sh", "cat", "echo", "printf", "sleep", "head", "tr", "test", "touch", "ls", "find", "stty", "read", "exec", "cd"}

// atTerminal raises the level to terminal, unless the user has set one.
func (c *composer) atTerminal() {
	if c.options.Level == "" {
		c.level = "terminal"
	}
}

// need adds the needs of a request: things that a server or machine may lack.
func (c *composer) need(a *asked) {
	if a.method == "job/start" || a.method == "job/run" {
		argv, _ := a.params["argv"].([]any)
		line, _ := a.params["command"].(string)
		shell, _ := a.params["shell"].(string)
		words := append([]any{shell}, argv[:min(len(argv), 1)]...)
		for _, part := range strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune("|&;\n", r) }) {
			if fields := strings.Fields(part); len(fields) > 0 {
				words = append(words, fields[0])
			}
		}
		for _, w := range words {
			word, _ := w.(string)
			if found, err := exec.LookPath(word); err == nil && found != word && !strings.ContainsAny(word, "/, ") && !slices.Contains(quiet, word) {
				c.needs["program "+word] = true
			}
		}
	}
	if a.method == "job/write" && (a.params["send"] != nil || a.params["secret"] == true || a.params["ifWaiting"] != nil) {
		c.atTerminal()
	}
	wait, _ := a.params["wait"].(map[string]any)
	if a.method == "job/wait" {
		wait = a.params
	}
	until, _ := wait["until"].([]any)
	for _, condition := range until {
		o, _ := condition.(map[string]any)
		for _, name := range []string{"input", "port", "command"} {
			if o[name] != nil && c.warm {
				c.needs["condition "+name] = true
			}
			if name == "input" && o[name] != nil {
				c.needInput(o[name])
			}
		}
	}
}
