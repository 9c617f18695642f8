package rpc

import (
	"encoding/json"
	"strconv"
	"strings"

	"shelld.dev/shelld/jobs"
	"shelld.dev/shelld/schema"
)

// watchSpec converts a watch to the engine's spec. at is the JSON pointer of its pattern in its params, for errors.
func watchSpec(w *schema.Watch, at string) jobs.WatchSpec {
	return jobs.WatchSpec{
		Pattern: w.Pattern, Flags: or(w.Flags, ""), Raw: or(w.On, "") == schema.WatchTargetRaw, Screen: or(w.On, "") == schema.WatchTargetScreen,
		Stream: jobs.Stream(or(w.Stream, "")), Once: or(w.Once, false), Pointer: at,
	}
}

// waitSpec converts a wait to the engine's spec. at is the JSON pointer of the wait in its params, for errors.
func (s *Server) waitSpec(w *schema.Wait, at string) (*jobs.WaitSpec, error) {
	spec := &jobs.WaitSpec{
		Timeout: timeout(w.TimeoutMs), MaxBytes: s.clampBytes(w.MaxBytes, defaultBytes),
		Plain: or(w.Format, schema.WaitFormatPlain) == schema.WaitFormatPlain, Screen: or(w.Format, "") == schema.WaitFormatScreen,
		StripEcho: or(w.StripEcho, false), Unmarked: !or(w.Mark, true), Pointer: at,
	}
	for i, c := range w.Until {
		cond, err := condition(&c, at+"/until/"+strconv.Itoa(i))
		if err != nil {
			return nil, err
		}
		spec.Until = append(spec.Until, cond)
	}
	from, err := origin(w.From, at+"/from")
	spec.From = from
	return spec, err
}

func unsupported(pointer, what, why string) error {
	return &wireError{schema.KindUnsupported, what + " is not supported: " + why,
		schema.UnsupportedData{Kind: string(schema.KindUnsupported), What: what, Pointer: &pointer}}
}

func condition(c *schema.Condition, at string) (jobs.Condition, error) {
	switch {
	case c.Exit != nil:
		return jobs.Condition{Kind: jobs.UntilExit}, nil
	case c.Closed != nil:
		return jobs.Condition{Kind: jobs.UntilClosed}, nil
	case c.QuietMs != nil:
		return jobs.Condition{Kind: jobs.UntilQuiet, Quiet: milliseconds(c.QuietMs, 0)}, nil
	case c.Bytes != nil:
		return jobs.Condition{Kind: jobs.UntilBytes, Bytes: *c.Bytes}, nil
	case c.Pattern != nil:
		on := or(c.On, "")
		return jobs.Condition{Kind: jobs.UntilPattern, AfterInput: c.AfterInput, Watch: jobs.WatchSpec{
			Pattern: *c.Pattern, Flags: or(c.Flags, ""), Raw: on == schema.PatternTargetRaw, Screen: on == schema.PatternTargetScreen,
			Stream: jobs.Stream(or(c.Stream, "")), Pointer: at + "/pattern",
		}}, nil
	case c.Input != nil:
		input, err := inputCondition(c.Input)
		return jobs.Condition{Kind: jobs.UntilInput, Input: input}, err
	case c.Port != nil:
		return portCondition(*c.Port, at)
	}
	return jobs.Condition{Kind: jobs.UntilCommand, Command: *c.Command, Watch: jobs.WatchSpec{Pointer: at + "/command"}}, nil
}

// origin reads the member from of a wait: an offset, offsets by stream, or a keyword.
func origin(raw json.RawMessage, at string) (o jobs.Origin, err error) {
	if raw == nil {
		return o, nil
	}
	switch raw[0] {
	case '"':
		var word schema.FromKeyword
		err = json.Unmarshal(raw, &word)
		o.Kind = map[schema.FromKeyword]jobs.OriginKind{
			schema.FromKeywordStart: jobs.FromStart, schema.FromKeywordNow: jobs.FromNow, schema.FromKeywordUnread: jobs.FromUnread,
		}[word]
		return o, err
	case '{':
		var by schema.StreamOffsets
		err = json.Unmarshal(raw, &by)
		o = jobs.Origin{Kind: jobs.FromOffset, Pointer: at, Offsets: map[jobs.Stream]int64{}}
		if by.Stdout != nil {
			o.Offsets[jobs.Stdout] = *by.Stdout
		}
		if by.Stderr != nil {
			o.Offsets[jobs.Stderr] = *by.Stderr
		}
		return o, err
	}
	var n float64 // The schema ensures that it is an integer, however spelled.
	err = json.Unmarshal(raw, &n)
	return jobs.Origin{Kind: jobs.FromOffset, Pointer: at, Offsets: map[jobs.Stream]int64{"": int64(n)}}, err
}

// pointer joins a JSON pointer.
func pointer(base string, i int, member string) string {
	return strings.Join([]string{base, strconv.Itoa(i), member}, "/")
}

// leftOff returns the result of a run, or, if it was cancelled, its current position. It must be called before the
// answer is sent: when the client has read that, it may make the job write at once, and this output is the first that
// must be sent.
func leftOff(j *jobs.Job, res jobs.RunResult) (at jobs.RunResult, ok bool) {
	if res.Info.Handle != 0 {
		return res, true
	}
	p := j.Published()
	if p == nil {
		return res, false
	}
	res.Info, res.Output = *p, map[jobs.Stream]jobs.Range{}
	for _, st := range p.Streams {
		res.Output[st.Name] = jobs.Range{To: st.NextOffset}
	}
	return res, true
}
