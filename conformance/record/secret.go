package record

import (
	"encoding/base64"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"shelld/conformance/internal/wire"
)

// A secret is text that must not be in a session. A variable stands for it where that is
// sent, with an x for each byte as its value.
type secret struct {
	text     string
	variable string // "": x stand for it
	told     bool   // its let was written
}

// leastSecret is how long text has to be for its other appearances to be looked for. What
// is shorter would be found where it is none.
const leastSecret = 4

// A vault has the secrets of a story.
type vault struct {
	secrets []*secret
	hidden  map[*beat]bool // the writes of which nothing may be written down
}

// secretNames are names of variables whose values nobody prints, as protocol section 8 has
// them.
var secretNames = []string{"*TOKEN*", "*SECRET*", "*PASSWORD*", "*PASSWD*", "*PASSPHRASE*", "*API_KEY*", "*APIKEY*", "*PRIVATE_KEY*", "*ACCESS_KEY*", "*CREDENTIAL*", "AWS_*KEY*", "*_KEY", "*_PWD", "*_PAT", "*_PASS", "SSHPASS", "*_AUTH", "*AUTH_CONFIG*", "*_JWT", "*_COOKIE", "*_DSN", "*WEBHOOK*", "*CONNECTION_STRING*", "*DATABASE_URL", "*REDIS_URL", "*MONGO*_UR[IL]", "*AMQP_URL"}

func looksSecret(name string) bool {
	return slices.ContainsFunc(secretNames, func(glob string) bool {
		ok, _ := path.Match(glob, strings.ToUpper(strings.ReplaceAll(name, "/", "_"))) // The globs are valid.
		return ok
	})
}

// lock finds the secrets of a story.
func lock(s *story) *vault {
	v := &vault{hidden: map[*beat]bool{}}
	lines := map[*cast]*typed{}
	for _, b := range s.beats {
		if b.kind != tapeFrame || b.bad || b.msg.Method != "job/write" || b.dir != wire.ToServer {
			continue
		}
		params, _ := b.msg.Params.(map[string]any)
		if params["secret"] == true || b.echo == echoOff {
			v.hidden[b] = true
		}
		if b.job == nil || b.job.mode == "pipe" {
			continue
		}
		l := lines[b.job]
		if l == nil {
			l = &typed{}
			lines[b.job] = l
		}
		if l.add(b, params) {
			if l.unseen(s) {
				for _, w := range l.writes {
					v.hidden[w] = true
				}
			}
			lines[b.job] = nil
		}
	}
	v.collect(s)
	for _, c := range s.jobs {
		for _, t := range c.streams {
			for _, x := range v.secrets {
				if len(x.text) >= leastSecret {
					t.conceal(x.text, x.variable)
				}
			}
		}
	}
	return v
}

// collect names what the hidden writes typed, and what else must not be seen.
func (v *vault) collect(s *story) {
	runs := map[*cast]string{} // typed in pieces, each in a write of its own
	for _, b := range s.beats {
		switch {
		case v.hidden[b]:
			params, _ := b.msg.Params.(map[string]any)
			text, _ := typedBy(params)
			v.addTyped(params, true)
			if b.job == nil {
				continue
			}
			runs[b.job] += text
			if i := strings.IndexAny(runs[b.job], "\r\n"); i >= 0 {
				v.add(runs[b.job][:i], false)
				delete(runs, b.job)
			}
		case b.dir == wire.ToServer && b.kind == tapeFrame:
			v.collectFrom(b)
		}
	}
	// The longest is looked for first: another may be part of it.
	slices.SortStableFunc(v.secrets, func(a, b *secret) int { return len(b.text) - len(a.text) })
}

// collectFrom finds the secrets in a message that types none, or is none.
func (v *vault) collectFrom(b *beat) {
	params, _ := b.msg.Params.(map[string]any)
	result, _ := b.msg.Result.(map[string]any)
	switch {
	case b.bad:
		if o, ok := b.msg.V["params"].(map[string]any); ok && o["secret"] == true {
			v.addTyped(o, false)
		}
	case b.msg.Kind == wire.KindResponse:
		text, _ := result["value"].(string) // of client/secret
		v.add(text, true)
	case b.msg.Kind == wire.KindRequest:
		env, _ := params["env"].(map[string]any)
		v.addVariables(env, b.msg.Method != "initialize")
		options, _ := params["options"].(map[string]any)
		env, _ = options["env"].(map[string]any)
		set, _ := env["set"].(map[string]any)
		v.addVariables(set, false) // initialize comes before any let
		if name, _ := params["name"].(string); b.msg.Method == "env/set" && (params["secret"] == true || looksSecret(name)) {
			text, _ := params["value"].(string)
			v.add(text, true)
		}
	}
}

// addVariables adds those of an environment whose names say that they are secrets.
func (v *vault) addVariables(env map[string]any, named bool) {
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if text, ok := env[name].(string); ok && looksSecret(name) {
			v.add(text, named)
		}
	}
}

// addTyped adds what a job/write types, each piece that is text.
func (v *vault) addTyped(params map[string]any, named bool) {
	for _, piece := range typedPieces(params) {
		for _, run := range textRuns.FindAllString(piece, -1) {
			v.add(run, named)
		}
	}
}

func (v *vault) add(text string, named bool) {
	if text == "" || v.find(text) != nil {
		return
	}
	x := &secret{text: text}
	if named {
		n := 1
		for _, other := range v.secrets {
			if other.variable != "" {
				n++
			}
		}
		x.variable = fmt.Sprintf("secret%d", n)
	}
	v.secrets = append(v.secrets, x)
}

// find is the secret that is this text, or nil.
func (v *vault) find(text string) *secret {
	for _, x := range v.secrets {
		if x.text == text {
			return x
		}
	}
	return nil
}

// textRuns is what of typed text is text: line ends and control characters are no secret,
// and a program that reads lines needs them.
var textRuns = regexp.MustCompile(`[^\x00-\x1f\x7f]+`)

// masked is text as long as a secret, in bytes, and harmless to shells: stars are not.
func masked(text string) string { return strings.Repeat("x", len(text)) }

// phrase is text without the secrets that are in it.
func (v *vault) phrase(text string) (p phrase) {
	if x := v.find(text); x != nil { // as short as it may be
		return phrase{{text: masked(text), variable: x.variable}}
	}
	for text != "" {
		at, found := len(text), (*secret)(nil)
		for _, x := range v.secrets {
			if i := strings.Index(text, x.text); i >= 0 && i < at && (len(x.text) >= leastSecret) {
				at, found = i, x
			}
		}
		if at > 0 {
			p = append(p, word{text: text[:at]})
		}
		if found == nil {
			return p
		}
		p = append(p, word{text: masked(found.text), variable: found.variable})
		text = text[at+len(found.text):]
	}
	return p
}

// whole says whether no part of a secret is in a text but the whole of it: a pattern may
// have cut it. Where that is not so, nothing may be said of the text.
func (v *vault) whole(text string) bool {
	const least = 3
	for _, x := range v.secrets {
		for n := least; n < len(x.text); n++ {
			if strings.HasSuffix(text, x.text[:n]) || strings.HasPrefix(text, x.text[len(x.text)-n:]) {
				return false
			}
		}
		if len(text) >= least && len(text) < len(x.text) && strings.Contains(x.text, text) {
			return false
		}
	}
	return true
}

// blank is text of which nothing but line ends and control characters may be seen.
func (v *vault) blank(text string) (p phrase) {
	at := 0
	for _, m := range textRuns.FindAllStringIndex(text, -1) {
		if m[0] > at {
			p = append(p, word{text: text[at:m[0]]})
		}
		w := word{text: masked(text[m[0]:m[1]])}
		if x := v.find(text[m[0]:m[1]]); x != nil {
			w.variable = x.variable
		}
		p = append(p, w)
		at = m[1]
	}
	if at < len(text) {
		p = append(p, word{text: text[at:]})
	}
	return p
}

// redact is bytes with x in place of the secrets in them, as they are and as JSON
// spells them.
func (v *vault) redact(raw string) string {
	for _, x := range v.secrets {
		if len(x.text) < leastSecret {
			continue
		}
		raw = strings.ReplaceAll(raw, x.text, masked(x.text))
		spelled := strings.Trim(string(wire.Encode(x.text)), `"`)
		raw = strings.ReplaceAll(raw, spelled, masked(spelled))
	}
	return raw
}

// typedPieces are the texts that a job/write types, in order.
func typedPieces(params map[string]any) (all []string) {
	if input, ok := params["input"].(string); ok {
		all = append(all, input)
	}
	keys, _ := params["keys"].([]any)
	for _, k := range keys {
		all = append(all, keyText(k))
	}
	send, _ := params["send"].([]any)
	for _, item := range send {
		o, _ := item.(map[string]any)
		for _, member := range []string{"text", "paste"} {
			if t, ok := o[member].(string); ok {
				all = append(all, t)
			}
		}
		if encoded, ok := o["base64"].(string); ok {
			raw, _ := base64.StdEncoding.DecodeString(encoded) // What is none is refused.
			all = append(all, string(raw))
		}
		if o["key"] != nil {
			all = append(all, keyText(o["key"]))
		}
	}
	if params["appendNewline"] == true {
		all = append(all, "\r")
	}
	return all
}

// typedBy is the text that a job/write types, and whether its last line is ended.
func typedBy(params map[string]any) (text string, ended bool) {
	text = strings.Join(typedPieces(params), "")
	return text, params["eof"] == true || strings.ContainsAny(text, "\r\n")
}

// keyText is what of a key matters here: the line end, and that others are no text.
func keyText(k any) string {
	if k == "Enter" {
		return "\r"
	}
	return "\x00"
}

// A typed is a line that is typed in one write or in several.
type typed struct {
	writes []*beat
	text   string
	state  echoState
}

// add takes a write in, and says whether the line is ended.
func (l *typed) add(b *beat, params map[string]any) bool {
	text, ended := typedBy(params)
	if l.text == "" {
		l.state = b.echo
	}
	l.writes, l.text = append(l.writes, b), l.text+text
	return ended
}

// unseen says whether a line that was typed into a terminal was shown nowhere: then it may
// be a password. Where the terminal could be looked at, a few keys are none: programs that
// take the whole screen do not show them.
func (l *typed) unseen(s *story) bool {
	text := strings.Join(textRuns.FindAllString(l.text, -1), "")
	least := leastSecret
	if l.state == echoUnknown {
		least = 1
	}
	if len(text) < least {
		return false
	}
	heard := s.heardOf(l.writes[0].job, l.writes[0].index)
	if heard == "" {
		return l.state == echoUnknown
	}
	return !shows(heard, text)
}

// heardOf is the text that the client was told of a job behind a beat: what is shown comes
// soon.
func (s *story) heardOf(c *cast, at int) string {
	const most = 16 << 10
	var heard strings.Builder
	for _, b := range s.beats[at:] {
		if heard.Len() > most {
			break
		}
		if b.dir != wire.FromServer || b.job != c || b.bad {
			continue
		}
		if o, ok := b.msg.Params.(map[string]any); ok && b.msg.Method == "job/output" {
			data, _ := wire.OutputBytes(o)
			heard.Write(data)
			continue
		}
		heard.WriteString(strings.Join(textsIn(b.msg.Result), ""))
	}
	return heard.String()
}

// textsIn are the texts of outputs in a result.
func textsIn(v any) (all []string) {
	o, _ := v.(map[string]any)
	for name, e := range o {
		if text, ok := e.(string); ok && slices.Contains([]string{"text", "output", "stdout"}, name) {
			all = append(all, text)
		}
		all = append(all, textsIn(e)...)
	}
	return all
}

// notShown is what a terminal does not show of its output, and where lines are broken: that
// depends on its width.
var notShown = regexp.MustCompile(`\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b.|[\x00-\x20\x7f]`)

// shows says whether most of a typed line is in an output. An editor does not show the
// keys that are commands.
func shows(heard, text string) bool {
	heard, text = notShown.ReplaceAllString(heard, ""), notShown.ReplaceAllString(text, "")
	if strings.Contains(heard, text) {
		return true
	}
	const most = 256
	text = text[:min(len(text), most)]
	return commonRun(heard, text) >= max((len(text)+1)/2, min(len(text), leastSecret))
}

// commonRun is the length of the longest text that is in both.
func commonRun(a, b string) (longest int) {
	row := make([]int, len(b)+1)
	for i := range len(a) {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				row[j+1] = row[j] + 1
				longest = max(longest, row[j+1])
			} else {
				row[j+1] = 0
			}
		}
	}
	return longest
}

// maskedBase64 is base64 of as many bytes, with x for what is text.
func maskedBase64(encoded string) string {
	raw, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return masked(encoded)
	}
	return base64.StdEncoding.EncodeToString([]byte(textRuns.ReplaceAllStringFunc(string(raw), masked)))
}

// redactBase64 is base64 without the secrets that are in its bytes.
func (v *vault) redactBase64(encoded string) string {
	raw, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return encoded
	}
	return base64.StdEncoding.EncodeToString([]byte(v.redact(string(raw))))
}
