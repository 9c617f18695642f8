package conformance

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// This file has the steps that look at what came.

func (p *player) answer(st *step) error {
	id := "null"
	if st.name != "null" {
		id = p.requests[st.name]
	}
	fits := p.responseTo(id)
	if id == "null" {
		fits = p.nextNull()
	}
	m, err := p.await(st, "an answer to "+st.name, fits)
	if err != nil {
		return err
	}
	got := m.result
	switch {
	case st.verb == "answer" && m.err != nil:
		return fmt.Errorf("expected a result for %s, got the error %s", st.name, show(m.err))
	case st.verb == "error" && m.err == nil:
		return fmt.Errorf("expected an error for %s, got the result %s", st.name, show(m.result))
	case st.verb == "error":
		got = flatten(m.err)
	}
	if st.v == nil {
		return nil
	}
	return match(st.v, got, p.vars)
}

// nextNull finds the next answer with id null that no step has asked for yet.
func (p *player) nextNull() func(*message) bool {
	skip := p.spots["null"]
	p.spots["null"]++
	return func(m *message) bool {
		if m.kind != kindResponse || m.id != "null" {
			return false
		}
		skip--
		return skip < 0
	}
}

// flatten is an error as sessions see it: kind, code, message, and the members of
// data beside them.
func flatten(v any) any {
	o, ok := v.(map[string]any)
	if !ok {
		return v
	}
	flat := map[string]any{}
	if data, ok := o["data"].(map[string]any); ok {
		for k, v := range data {
			flat[k] = v
		}
	}
	for k, v := range o {
		flat[k] = v
	}
	return flat
}

// fits says whether a message is an item's: nil, or why not.
func (p *player) fits(it item, m *message) error {
	if m.method != it.method {
		return fmt.Errorf("the method is %s", m.method)
	}
	if it.params == nil {
		return nil
	}
	return match(it.params, m.params, p.vars)
}

func (p *player) expect(st *step) error {
	left, at := slices.Clone(st.items), p.cursor
	var near error // why the last message of the right method did not fit
	err := p.until(st, "", func(log []entry) (bool, error) {
		for ; at < len(log) && len(left) > 0; at++ {
			e := &log[at]
			if e.dir != fromServer || e.msg.kind == kindResponse {
				continue
			}
			taken, why, err := p.take(st, &left, &e.msg)
			if err != nil {
				return false, err
			}
			if taken {
				p.cursor = at + 1
			} else if why != nil {
				near = why
			}
		}
		return len(left) == 0, nil
	})
	var wrong *syntaxError
	if err == nil || errors.As(err, &wrong) {
		return err
	}
	it := left[0]
	msg := strings.Replace(err.Error(), "expected ", "expected "+it.method+" as here", 1)
	if near != nil {
		msg += "\n\tthe nearest one differs: " + near.Error()
	}
	return &failure{it.position, msg}
}

// take matches a message with what is still expected.
func (p *player) take(st *step, left *[]item, m *message) (taken bool, near, err error) {
	n := 1
	if slices.Contains(st.words, "unordered") {
		n = len(*left)
	}
	for i := range n {
		why := p.fits((*left)[i], m)
		var wrong *syntaxError
		if errors.As(why, &wrong) {
			return false, nil, wrong
		}
		if why == nil {
			*left = slices.Delete(*left, i, i+1)
			return true, nil, nil
		}
		if (*left)[i].method == m.method {
			near = why
		}
	}
	if slices.Contains(st.words, "next") {
		return false, nil, &failure{(*left)[0].position, fmt.Sprintf("expected %s next, got %s", (*left)[0].method, clip(string(m.raw)))}
	}
	return false, near, nil
}

func (p *player) never(st *step, from int) error {
	for _, e := range p.conn.log[from:] {
		if e.dir == fromServer && e.msg.kind != kindResponse && p.fits(st.items[0], &e.msg) == nil {
			return &failure{st.position, "expected that this never comes, got " + clip(string(e.msg.raw))}
		}
	}
	return nil
}

func (p *player) count(st *step) error {
	want, _ := integer(st.words[0])
	n := int64(0)
	for _, e := range p.conn.log {
		if e.dir == fromServer && e.msg.kind != kindResponse && p.fits(st.items[0], &e.msg) == nil {
			n++
		}
	}
	if n != want {
		return &failure{st.position, fmt.Sprintf("expected %d of %s as here in the session, got %d", want, st.items[0].method, n)}
	}
	return nil
}

// An outputStep is what an output step asks for.
type outputStep struct {
	handle, stream string
	contains       bool
	from           int64
}

func (p *player) outputStep(st *step) (o outputStep, err error) {
	v, err := parseValue(st.file, st.line, st.words[0])
	if err != nil {
		return o, err
	}
	handle, err := (matcher{p.vars}).evaluate(v)
	if err != nil {
		return o, err
	}
	o.handle = show(handle)
	o.from = -1
	for i, w := range st.words[1:] {
		switch {
		case w == "contains":
			o.contains = true
		case w == "from":
			at, err := parseValue(st.file, st.line, st.words[i+2])
			if err != nil {
				return o, err
			}
			n, err := (matcher{p.vars}).evaluate(at)
			if err != nil {
				return o, err
			}
			o.from, _ = asInt(n)
		case i > 0 && st.words[i] == "from":
		default:
			o.stream = w
		}
	}
	return o, nil
}

// output awaits text of a job, joined over however many chunks it comes in. It goes
// on where the last such step of the stream ended.
func (p *player) output(st *step) error {
	o, err := p.outputStep(st)
	if err != nil {
		return err
	}
	var got string
	var stream string
	err = p.until(st, "", func([]entry) (bool, error) {
		j := p.check.jobs[o.handle]
		if j == nil {
			return false, nil
		}
		s, name, err := j.stream(o.stream)
		if err != nil || s == nil {
			return false, err
		}
		stream = name
		key := o.handle + " " + name
		from := p.spots[key]
		if o.from >= 0 {
			from = o.from
		}
		got = s.text(from)
		n, done, err := p.compare(st, o, got)
		if done {
			p.spots[key] = from + int64(n)
		}
		if err == nil && !done && j.closed {
			return false, errors.New("the job is closed")
		}
		return done, err
	})
	if err == nil {
		return nil
	}
	var wrong *syntaxError
	if errors.As(err, &wrong) {
		return err
	}
	want, _ := (matcher{p.vars}).evaluate(st.v)
	if stream == "" {
		stream = "any stream"
	}
	return &failure{st.position, fmt.Sprintf("%s\n\texpected output of job %s (%s): %s\n\tgot: %s", strings.Replace(err.Error(), "expected ", "expected it", 1), o.handle, stream, showWanted(st.v, want), strconv.Quote(clip(got)))}
}

func showWanted(v value, filled any) string {
	if r, ok := v.(regex); ok {
		return "what matches ~" + strconv.Quote(strings.Join(r.source, "$"))
	}
	return show(filled)
}

// stream finds a job's stream; "" is the only one.
func (j *jobView) stream(name string) (*streamView, string, error) {
	if name != "" {
		return j.streams[name], name, nil
	}
	for _, n := range []string{"pty", "stdout", "stderr"} {
		if s := j.streams[n]; s != nil {
			return s, n, nil
		}
	}
	return nil, "", nil
}

// text joins what came from an offset on.
func (s *streamView) text(from int64) string {
	var b strings.Builder
	for _, piece := range s.pieces {
		end := piece.offset + int64(len(piece.data))
		if end > from {
			b.Write(piece.data[max(from-piece.offset, 0):])
		}
	}
	return b.String()
}

// compare says how much of the text a step is satisfied with, or that it never can be.
func (p *player) compare(st *step, o outputStep, got string) (n int, done bool, err error) {
	if r, ok := st.v.(regex); ok {
		source, err := (matcher{p.vars}).join(r.position, r.source, regexp.QuoteMeta)
		if err != nil {
			return 0, false, err
		}
		re, err := regexp.Compile(source)
		if err != nil {
			return 0, false, &syntaxError{r.position, "this is no regular expression of Go's: " + err.Error()}
		}
		m := re.FindStringIndex(got)
		if m == nil {
			return 0, false, nil
		}
		return m[1], true, nil
	}
	v, err := (matcher{p.vars}).evaluate(st.v)
	if err != nil {
		return 0, false, err
	}
	want, ok := v.(string)
	switch {
	case !ok:
		return 0, false, &syntaxError{st.v.at(), "expected a string or ~\"regex\" for output, found " + show(v)}
	case o.contains:
		i := strings.Index(got, want)
		return i + len(want), i >= 0, nil
	case strings.HasPrefix(got, want):
		return len(want), true, nil
	case !strings.HasPrefix(want, got):
		return 0, false, errors.New("the output differs")
	}
	return 0, false, nil
}
