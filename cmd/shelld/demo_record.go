package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"

	"shelld.dev/shelld/client"
	"shelld.dev/shelld/schema"
)

// A demoRecord collects the events of the demo's one job. It checks each event against the guarantees of the protocol:
// no output is lost, repeated or out of order.
type demoRecord struct {
	seq     int64 // of the last event
	started *schema.JobStartedParams
	pushed  []byte // all output from offset 0
	prompts []schema.JobPatternMatchedParams
	exited  *schema.JobExitedParams
	closed  *schema.JobClosedParams
}

// add adds an event. It returns an error if the event breaks a guarantee.
func (r *demoRecord) add(n client.Event) error {
	var head struct{ Handle, Seq int64 }
	if err := json.Unmarshal(n.Params, &head); err != nil || head.Handle == 0 {
		return nil // It is not an event of a job.
	}
	switch {
	case head.Seq != r.seq+1:
		return fmt.Errorf("%s has seq %d after %d: an event is missing or out of order", n.Method, head.Seq, r.seq)
	case r.closed != nil:
		return fmt.Errorf("%s came after job/closed, which must be the last event", n.Method)
	case (r.started == nil) != (n.Method == "job/started"):
		return fmt.Errorf("%s as event number %d: job/started must come once, and first", n.Method, head.Seq)
	}
	r.seq = head.Seq
	if err := r.take(n); err != nil {
		return fmt.Errorf("%s: %w", n.Method, err)
	}
	return nil
}

// take stores the contents of an event.
func (r *demoRecord) take(n client.Event) error {
	switch n.Method {
	case "job/started":
		return json.Unmarshal(n.Params, &r.started)
	case "job/output":
		return r.output(n.Params)
	case "job/patternMatched":
		var m schema.JobPatternMatchedParams
		if err := json.Unmarshal(n.Params, &m); err != nil {
			return err
		}
		r.prompts = append(r.prompts, m)
		if m.EndOffset > int64(len(r.pushed)) {
			return fmt.Errorf("it refers to output up to %d before that was sent; only %d bytes were", m.EndOffset, len(r.pushed))
		}
	case "job/watchRemoved":
		return fmt.Errorf("the server gave up a harmless pattern")
	case "job/exited":
		if r.exited != nil {
			return fmt.Errorf("it came twice")
		}
		return json.Unmarshal(n.Params, &r.exited)
	case "job/closed":
		if r.exited == nil {
			return fmt.Errorf("it came before job/exited")
		}
		return json.Unmarshal(n.Params, &r.closed)
	}
	return nil
}

func (r *demoRecord) output(params json.RawMessage) error {
	var o schema.JobOutputParams
	if err := json.Unmarshal(params, &o); err != nil {
		return err
	}
	raw, err := demoBytes(o.Text, o.Base64)
	switch {
	case err != nil:
		return err
	case o.Offset != int64(len(r.pushed)):
		return fmt.Errorf("it begins at offset %d, and the output so far ends at %d", o.Offset, len(r.pushed))
	case o.Bytes != int64(len(raw)):
		return fmt.Errorf("it announces %d bytes and carries %d", o.Bytes, len(raw))
	}
	r.pushed = append(r.pushed, raw...)
	return nil
}

// demoBytes returns the raw bytes of an output given as text or base64.
func demoBytes(text, encoded *string) ([]byte, error) {
	switch {
	case text != nil:
		return []byte(*text), nil
	case encoded != nil:
		return base64.StdEncoding.DecodeString(*encoded)
	}
	return nil, fmt.Errorf("there is neither text nor base64")
}
