package rpc

import (
	"encoding/json"

	"shelld.dev/shelld/jobs"
	"shelld.dev/shelld/schema"
)

// inputDetection returns how reliably this server, on this machine, detects that a job waits for input.
func inputDetection(m *jobs.Manager) schema.InputDetection {
	tier, why := m.InputDetection()
	return schema.InputDetection{Tier: schema.InputDetectionTier(tier), Why: why}
}

// inputCondition reads true, or an object with restrictions.
func inputCondition(raw json.RawMessage) (c jobs.InputCondition, err error) {
	var p schema.InputCondition
	if raw[0] == '{' {
		if err := json.Unmarshal(raw, &p); err != nil {
			return c, err
		}
	}
	c.MinConfidence = jobs.Confidence(or(p.MinConfidence, schema.InputConfidenceLikely))
	c.Listening = or(p.Listening, false)
	for _, k := range p.Kinds {
		c.Kinds = append(c.Kinds, jobs.InputKind(k))
	}
	return c, nil
}

// waitingForInput returns the known state of a job; nil if nothing is known.
func waitingForInput(w *jobs.WaitingForInput) *schema.WaitingForInput {
	switch {
	case w == nil:
		return nil
	case !w.Waiting:
		return &schema.WaitingForInput{Why: optional(w.Why)}
	}
	since := timestamp(w.Since)
	return &schema.WaitingForInput{
		Waiting: true, WaitID: &w.ID, State: optional(schema.InputState(w.State)), Kind: optional(schema.InputKind(w.Kind)),
		Since: &since, Prompt: &w.Prompt, PID: optional(int64(w.PID)), Why: &w.Why, Confidence: optional(schema.InputConfidence(w.Confidence)),
	}
}

// waitingParams returns the notification for the start or end of a wait for input.
func waitingParams(w *jobs.InputWaiting, handle, seq int64, n *int64) schema.JobWaitingForInputParams {
	p := schema.JobWaitingForInputParams{Handle: handle, Seq: seq, N: n, Waiting: w.Waiting, WaitID: w.ID}
	if s := waitingForInput(&w.WaitingForInput); w.Waiting {
		p.State, p.Kind, p.Since, p.Prompt, p.PID, p.Why, p.Confidence = s.State, s.Kind, s.Since, s.Prompt, s.PID, s.Why, s.Confidence
	}
	return p
}
