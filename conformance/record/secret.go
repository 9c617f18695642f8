package record

import (
	"encoding/base64"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"shelld.dev/shelld/conformance/internal/wire"
)

// A secret is text that must not appear in a session. Where the session sends it, a variable replaces it, whose
// value has an x for each byte.
type secret struct {
	text     string
	variable string // "": replaced by x
	told     bool   // its let step was written
}

// leastSecret is the minimum length of text whose other occurrences are searched for. Shorter text would match by
// chance.
const leastSecret = 4

// A vault holds the secrets of a story.
type vault struct {
	secrets []*secret
	hidden  map[*beat]bool // writes whose text must not be recorded
}

// secretNames are patterns for the names of variables with secret values, as in protocol section 8.
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

// collect registers the text of the hidden writes, and all other secrets.
func (v *vault) collect(s *story) {
	runs := map[*cast]string{} // lines typed in pieces, over several writes
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
	// The longest is searched for first, since it may contain another.
	slices.SortStableFunc(v.secrets, func(a, b *secret) int { return len(b.text) - len(a.text) })
}

// collectFrom finds the secrets in a message that is no job/write, or is invalid.
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

// addVariables adds the values of environment variables with names of secrets.
func (v *vault) addVariables(env map[string]any, named bool) {
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if text, ok := env[name].(string); ok && looksSecret(name) {
			v.add(text, named)
		}
	}
}

// addTyped adds the text that a job/write types, each run of it as a secret of its own.
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

// find returns the secret with exactly this text, or nil.
func (v *vault) find(text string) *secret {
	for _, x := range v.secrets {
		if x.text == text {
			return x
		}
	}
	return nil
}

// textRuns matches runs of text in typed input: line ends and control characters are no secrets, and a program
// that reads lines needs them.
var textRuns = regexp.MustCompile(`[^\x00-\x1f\x7f]+`)

// masked returns x for each byte of text; unlike *, x is harmless in shells.
func masked(text string) string { return strings.Repeat("x", len(text)) }

// phrase returns text with its secrets replaced.
func (v *vault) phrase(text string) (p phrase) {
	if x := v.find(text); x != nil { // The whole text may be a secret shorter than leastSecret.
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

// whole reports whether a text contains secrets only as a whole, and no part of one: a pattern may have cut it.
// If it is false, the text must not appear in the session.
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

// blank returns text with everything masked except line ends and control characters.
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

// redact replaces the secrets in a message by x, in plain and in JSON spelling.
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

// typedPieces returns the texts that a job/write types, in order.
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
			raw, _ := base64.StdEncoding.DecodeString(encoded) // The server rejects invalid base64.
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

// typedBy returns the text that a job/write types, and whether its last line is ended.
func typedBy(params map[string]any) (text string, ended bool) {
	text = strings.Join(typedPieces(params), "")
	return text, params["eof"] == true || strings.ContainsAny(text, "\r\n")
}

// keyText returns the text of a key as far as it matters here: Enter ends a line, and other keys type no text.
func keyText(k any) string {
	if k == "Enter" {
		return "\r"
	}
	return "\x00"
}

// A typed is a line that is typed in one or several writes.
type typed struct {
	writes []*beat
	text   string
	state  echoState
}

// add adds a write, and reports whether the line is ended.
func (l *typed) add(b *beat, params map[string]any) bool {
	text, ended := typedBy(params)
	if l.text == "" {
		l.state = b.echo
	}
	l.writes, l.text = append(l.writes, b), l.text+text
	return ended
}

// unseen reports whether a typed line was never echoed: then it may be a password. If the terminal could be
// probed, a line shorter than leastSecret is no password: full-screen programs do not echo single keys.
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

// heardOf returns the output of a job that the client received after a beat, about 16 KiB at most: an echo comes soon.
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

// textsIn returns the output texts in a result.
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

// notShown matches the parts of a terminal's output that are not shown, and spaces and line breaks, which depend
// on its width.
var notShown = regexp.MustCompile(`\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b.|[\x00-\x20\x7f]`)

// shows reports whether most of a typed line appears in an output. The match need not be complete, because an
// editor does not echo keys that are commands.
func shows(heard, text string) bool {
	heard, text = notShown.ReplaceAllString(heard, ""), notShown.ReplaceAllString(text, "")
	if strings.Contains(heard, text) {
		return true
	}
	const most = 256
	text = text[:min(len(text), most)]
	return commonRun(heard, text) >= max((len(text)+1)/2, min(len(text), leastSecret))
}

// commonRun returns the length of the longest common substring.
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

// maskedBase64 returns base64 of equally many bytes, with x for text.
func maskedBase64(encoded string) string {
	raw, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return masked(encoded)
	}
	return base64.StdEncoding.EncodeToString([]byte(textRuns.ReplaceAllStringFunc(string(raw), masked)))
}

// redactBase64 returns base64 of its bytes without the secrets.
func (v *vault) redactBase64(encoded string) string {
	raw, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return encoded
	}
	return base64.StdEncoding.EncodeToString([]byte(v.redact(string(raw))))
}
