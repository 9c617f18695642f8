package conformance

import (
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"shelld.dev/shelld/conformance/internal/wire"
)

// This file has the steps that check received messages.

// await waits for the answer to a request.
func (p *player) await(st *step, r *request) error {
	return p.until(st, "an answer to "+r.name, func([]entry) (bool, error) { return r.answer != nil, nil })
}

func (p *player) answer(st *step) error {
	m, err := p.answered(st)
	if err != nil {
		return err
	}
	return p.judge(st.verb, st.name, st.v, m)
}

func (p *player) answered(st *step) (*wire.Message, error) {
	r := p.requests[st.name]
	if r == nil && st.name != "null" {
		return nil, &syntaxError{st.position, fmt.Sprintf("no request %q was sent", st.name)}
	}
	if r != nil && r.of != p.line {
		return nil, &syntaxError{st.position, fmt.Sprintf("the request %q was sent on another connection, by %s; the step client NAME comes before", st.name, r.of.name)}
	}
	if r != nil && st.words == nil {
		err := p.await(st, r)
		return r.answer, err
	}
	var got *wire.Message
	err := p.until(st, "an error with id null", func([]entry) (bool, error) {
		if r != nil && r.answer != nil {
			got = r.answer
		} else if len(p.check.nulls) > p.nulls {
			got = p.check.nulls[p.nulls]
			p.nulls++
		}
		return got != nil, nil
	})
	if r != nil && r.answer == nil {
		r.lost = true // the server could not read its id, and will not answer it again
	}
	return got, err
}

// judge compares an answer with the expected one.
func (p *player) judge(verb, name string, want value, m *wire.Message) error {
	got := m.Result
	switch {
	case verb == "answer" && m.Err != nil:
		return fmt.Errorf("expected a result for %s, got the error %s", name, wire.Show(m.Err))
	case verb == "error" && m.Err == nil:
		return fmt.Errorf("expected an error for %s, got the result %s", name, wire.Show(m.Result))
	case verb == "error":
		got = wire.Flatten(m.Err)
	}
	if want == nil {
		return nil
	}
	return match(want, got, p.vars)
}

// errOther means that a message is not of an item's kind.
var errOther = errors.New("it is another message")

// fits returns nil if a message matches an item, or why it does not.
func (p *player) fits(it item, m *wire.Message) error {
	if it.name != "" {
		r := p.requests[it.name]
		if r == nil || r.answer != m {
			return errOther
		}
		return p.judge(it.method, it.name, it.params, m)
	}
	if m.Method != it.method {
		return errOther
	}
	vars := maps.Clone(p.vars) // the id binds nothing if the params do not match
	if it.id != nil {
		if err := match(it.id, m.V["id"], vars); err != nil {
			return err
		}
	}
	if it.params != nil {
		if err := match(it.params, m.Params, vars); err != nil {
			return err
		}
	}
	maps.Copy(p.vars, vars)
	return nil
}

func (p *player) expect(st *step) error {
	left, at := slices.Clone(st.items), p.cursors[st.name]
	var near error // why the last message of the right method did not match
	err := p.until(st, "", func(log []entry) (bool, error) {
		for ; at < len(log) && len(left) > 0; at++ {
			if log[at].dir != wire.FromServer {
				continue
			}
			taken, why, err := p.take(st, &left, &log[at].msg)
			if err != nil {
				return false, err
			}
			if taken {
				p.cursors[st.name], near = at+1, nil
			} else if why != nil {
				near = why
			}
		}
		return len(left) == 0, p.inVain(left)
	})
	return unmet(err, left, near)
}

// unmet returns the error of an expect that has unmatched items left. near is why the last message of the right
// method did not match.
func unmet(err error, left []item, near error) error {
	var wrong *syntaxError
	var failed *failure
	if err == nil || errors.As(err, &wrong) || errors.As(err, &failed) {
		return err
	}
	it := left[0]
	var vain *vainError
	if errors.As(err, &vain) {
		it = vain.item
	}
	msg := strings.Replace(err.Error(), "expected ", "expected "+it.String()+" as here", 1)
	if near != nil {
		msg += "\n\tthe last one that came differs: " + near.Error()
	}
	return &failure{it.position, msg}
}

// take matches a message with the remaining items.
func (p *player) take(st *step, left *[]item, m *wire.Message) (taken bool, near, err error) {
	n := 1
	if slices.Contains(st.words, "unordered") {
		n = len(*left)
	}
	for i := range n {
		it := (*left)[i]
		why := p.fits(it, m)
		var wrong *syntaxError
		switch {
		case errors.As(why, &wrong):
			return false, nil, wrong
		case why == nil:
			*left = slices.Delete(*left, i, i+1)
			return true, nil, nil
		case why != errOther:
			near = why
		}
		if slices.Contains(st.words, "next") && p.sameJob(it, m) {
			msg := fmt.Sprintf("expected %s next, got %s", it, wire.Clip(string(m.Raw)))
			if near != nil {
				msg += "\n\tit differs: " + near.Error()
			}
			return false, nil, &failure{it.position, msg}
		}
	}
	return false, near, nil
}

// sameJob reports whether a message may not come before the next expected one: it is of the same job, or the item
// does not name a job.
func (p *player) sameJob(it item, m *wire.Message) bool {
	if m.Kind == wire.KindResponse {
		return it.name != ""
	}
	o, _ := it.params.(object)
	for _, member := range o.members {
		if member.name != "handle" {
			continue
		}
		got, _ := m.Params.(map[string]any)
		want, err := (matcher{p.vars}).evaluate(member.v)
		return err != nil || equal(want, got["handle"])
	}
	return true
}

// jobOf returns the job of an output step; nil: no message has mentioned it yet.
func (p *player) jobOf(st *step) (*jobView, error) {
	v, err := (matcher{p.vars}).evaluate(st.output.handle)
	if err != nil {
		return nil, err
	}
	if _, ok := wire.Int(v); !ok {
		return nil, &syntaxError{st.position, "this is no handle: " + wire.Show(v)}
	}
	return p.check.jobs[wire.Show(v)], nil
}

// streamOf returns the stream of an output step; nil: no output of it has come yet.
func (p *player) streamOf(st *step, j *jobView) (string, *streamView, error) {
	if name := st.output.stream; name != "" {
		return name, j.streams[name], nil
	}
	only, n := "", 0
	for _, name := range wire.Streams {
		if s := j.streams[name]; s != nil && len(s.runs) > 0 {
			only, n = name, n+1
		}
	}
	if n > 1 {
		return "", nil, &syntaxError{st.position, "the job has several streams; name one: output HANDLE stdout"}
	}
	return only, j.streams[only], nil
}

// output waits for text of a job, joined over any number of chunks. It continues from the end of the stream's
// last such step.
func (p *player) output(st *step) error {
	want, err := p.wantedText(st)
	if err != nil {
		return err
	}
	var got, stream string
	err = p.until(st, "it", func([]entry) (done bool, err error) {
		j, err := p.jobOf(st)
		if j == nil || err != nil {
			return false, err
		}
		got, stream, done, err = p.look(st, j, want)
		return done, err
	})
	var wrong *syntaxError
	if err == nil || errors.As(err, &wrong) {
		return err
	}
	if stream == "" {
		stream = "any stream"
	}
	return &failure{st.position, fmt.Sprintf("%s\n\texpected output (%s): %s\n\tgot: %s", err, stream, want, want.beside(got))}
}

// look compares a stream's output so far with the expected text.
func (p *player) look(st *step, j *jobView, want wantedText) (got, stream string, done bool, err error) {
	stream, s, err := p.streamOf(st, j)
	if err != nil {
		return "", stream, false, err
	}
	key := j.handle + " " + stream
	from := p.spots[key]
	if st.output.from != nil {
		if from, err = p.offset(st.output.from); err != nil {
			return "", stream, false, err
		}
	}
	var data []byte
	there := true
	if s != nil {
		data, there = s.from(from)
	}
	got = string(data)
	n, done, err := want.in(got, there, j.closed)
	if done {
		p.spots[key] = from + int64(n)
	}
	return got, stream, done, err
}

// beside shows the actual output from the first difference on.
func (w wantedText) beside(got string) string {
	same := 0
	for w.re == nil && w.how != "contains" && same < min(len(w.text), len(got)) && w.text[same] == got[same] {
		same++
	}
	if same < 100 {
		return strconv.Quote(wire.Clip(got))
	}
	return fmt.Sprintf("%d bytes, as expected up to byte %d and then %s (not %s)", len(got), same, strconv.Quote(wire.Clip(got[same:])), strconv.Quote(wire.Clip(w.text[same:])))
}

func (p *player) offset(v value) (int64, error) {
	n, err := (matcher{p.vars}).evaluate(v)
	if err != nil {
		return 0, err
	}
	at, ok := wire.Int(n)
	if !ok || at < 0 {
		return 0, &syntaxError{v.at(), "this is no offset: " + wire.Show(n)}
	}
	return at, nil
}

// A wantedText is the text that an output step waits for.
type wantedText struct {
	re   *regexp.Regexp
	text string
	how  string
}

func (w wantedText) String() string {
	if w.re != nil {
		return "what matches ~" + strconv.Quote(w.re.String())
	}
	return strings.TrimLeft(w.how+" ", " ") + strconv.Quote(wire.Clip(w.text))
}

func (p *player) wantedText(st *step) (w wantedText, err error) {
	w.how = st.output.how
	if r, ok := st.v.(regex); ok {
		if w.how != "" {
			return w, &syntaxError{st.position, "a regular expression is found anywhere; it takes neither contains nor ends"}
		}
		source, err := (matcher{p.vars}).join(r.position, r.source, regexp.QuoteMeta)
		if err != nil {
			return w, err
		}
		if w.re, err = regexp.Compile(source); err != nil {
			return w, &syntaxError{r.position, "this is no regular expression of Go's: " + err.Error()}
		}
		return w, nil
	}
	v, err := (matcher{p.vars}).evaluate(st.v)
	if err != nil {
		return w, err
	}
	var ok bool
	if w.text, ok = v.(string); !ok {
		return w, &syntaxError{st.v.at(), "expected a string or ~\"regex\" for output, found " + wire.Show(v)}
	}
	return w, nil
}

// in reports whether the output satisfies the step, and returns the length of the output up to the end of the
// match. It returns an error if the output never can. there reports whether the step's offset was reached and is
// not in a gap.
func (w wantedText) in(got string, there, closed bool) (n int, done bool, err error) {
	switch {
	case w.re != nil:
		if m := w.re.FindStringIndex(got); m != nil {
			return m[1], true, nil
		}
	case w.how == "contains":
		if i := strings.Index(got, w.text); i >= 0 {
			return i + len(w.text), true, nil
		}
	case w.how == "ends":
		if closed && there && got == w.text {
			return len(got), true, nil
		}
		if !strings.HasPrefix(w.text, got) {
			return 0, false, errors.New("the output differs")
		}
	case strings.HasPrefix(got, w.text):
		return len(w.text), there, nil
	case !strings.HasPrefix(w.text, got):
		return 0, false, errors.New("the output differs")
	}
	if closed {
		return 0, false, errors.New("the job is closed, and no more output comes")
	}
	return 0, false, nil
}

// bytes waits for bytes at offsets.
func (p *player) bytes(st *step) error {
	for _, piece := range st.output.pieces {
		at, want, err := p.piece(piece)
		if err != nil {
			return err
		}
		var got []byte
		err = p.until(st, "it", func([]entry) (bool, error) {
			j, err := p.jobOf(st)
			if j == nil || err != nil {
				return false, err
			}
			if s := j.streams[st.output.stream]; s != nil {
				got, _ = s.from(at)
			}
			if len(got) < len(want) && j.closed {
				return false, errors.New("the job is closed, and no more output comes")
			}
			return len(got) >= len(want), nil
		})
		var wrong *syntaxError
		if errors.As(err, &wrong) {
			return err
		}
		got = got[:min(len(got), len(want))]
		if err == nil && string(got) != want {
			err = errors.New("the output differs")
		}
		if err != nil {
			return &failure{piece.position, fmt.Sprintf("%s\n\texpected bytes at %d (%s): %s\n\tgot: %s", err, at, st.output.stream, strconv.Quote(wire.Clip(want)), strconv.Quote(wire.Clip(string(got))))}
		}
	}
	return nil
}

func (p *player) piece(o outputPiece) (at int64, want string, err error) {
	if at, err = p.offset(o.offset); err != nil {
		return 0, "", err
	}
	v, err := (matcher{p.vars}).evaluate(o.text)
	if err != nil {
		return 0, "", err
	}
	want, ok := v.(string)
	if !ok {
		return 0, "", &syntaxError{o.position, "expected a string, found " + wire.Show(v)}
	}
	if o.base64 {
		raw, err := base64.StdEncoding.DecodeString(want)
		if err != nil {
			return 0, "", &syntaxError{o.position, "this is no base64: " + err.Error()}
		}
		want = string(raw)
	}
	return at, want, nil
}
