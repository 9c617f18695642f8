package rpc

import (
	"encoding/json"
	"errors"
	"unicode/utf16"
	"unicode/utf8"

	"shelld.dev/shelld/jobs"
	"shelld.dev/shelld/schema"
)

// commandBytes is the maximum length of the command that asks for a password, as sent to the client.
const commandBytes = 1024

// secretLocked asks the client for a password, or withdraws the question. If output is sent, the question comes after
// the prompt. The caller must hold out.mu.
func (l *lane) secretLocked(e jobs.Event) {
	if e.Secret.Over {
		if l.ask != nil {
			l.out.withdrawLocked(l.ask)
			l.ask = nil
		}
		return
	}
	j, waitID := l.job, e.Secret.WaitID
	l.ask = &ask{
		method: "client/secret",
		params: schema.ClientSecretParams{
			Handle: l.handle, WaitID: waitID, Prompt: e.Secret.Prompt, Command: clip(e.Secret.Command, commandBytes-len("…")), Attempt: int64(e.Secret.Attempt),
		},
		answered: func(s *Server, result, failure json.RawMessage) { s.secretAnswered(j, waitID, result, failure) },
	}
	if !l.open {
		l.out.sendAskLocked(l.ask) // No output is sent, but the user is still asked.
		return
	}
	l.queue = append(l.queue, laneEvent{Event: e, ask: l.ask})
	l.out.enqueueLocked(l)
}

// askNowLocked sends the lane's queued questions, before its queue is dropped.
func (l *lane) askNowLocked() {
	for _, e := range l.queue {
		if e.ask != nil {
			l.out.sendAskLocked(e.ask)
		}
	}
}

// secretAnswered handles the answer to client/secret. It logs nothing of the value.
func (s *Server) secretAnswered(j *jobs.Job, waitID string, result, failure json.RawMessage) {
	if failure != nil {
		s.log.Warn("client/secret was answered with an error, and counts as declined", "job", j.ID(), "why", clip(string(failure), 500))
		return
	}
	value, err := readSecret(result)
	switch {
	case err != nil:
		s.log.Warn("the answer to client/secret does not fit its schema, and counts as declined", "job", j.ID(), "why", err)
	case value != nil:
		j.AnswerSecret(waitID, value)
	}
}

// readSecret reads the result of client/secret according to its schema. It returns nil if the client declined. It never
// makes a string of the value, since a string cannot be wiped: the caller has the only copy. Its errors do not quote.
func readSecret(result json.RawMessage) (value []byte, err error) {
	var members map[string]json.RawMessage
	defer func() {
		for _, m := range members {
			clear(m)
		}
	}()
	if len(result) == 0 || result[0] != '{' || json.Unmarshal(result, &members) != nil {
		return nil, errors.New("it is not an object")
	}
	text, given := members["value"]
	no, declined := members["declined"]
	extra := len(members)
	for _, name := range []string{"value", "declined", "_meta"} {
		if _, there := members[name]; there {
			extra--
		}
	}
	switch {
	case extra > 0:
		return nil, errors.New("it has an unknown member")
	case given == declined:
		return nil, errors.New("it must have exactly one of value and declined")
	case declined && string(no) != "true":
		return nil, errors.New("declined must be true or absent")
	case declined:
		return nil, nil
	case text[0] != '"':
		return nil, errors.New("value must be a string")
	case hasLoneSurrogate(text):
		return nil, errors.New("value has a lone surrogate")
	}
	value = appendUnescaped(make([]byte, 0, len(text)), text[1:len(text)-1])
	for _, c := range value {
		if c < ' ' || c == 0x7f {
			clear(value)
			return nil, errors.New("value has a control character")
		}
	}
	return value, nil
}

// appendUnescaped appends the decoded content of a valid JSON string. It appends no more bytes than the content has.
func appendUnescaped(to, content []byte) []byte {
	for i := 0; i < len(content); i++ {
		if content[i] != '\\' {
			to = append(to, content[i])
			continue
		}
		if r := escaped(content[i:]); r >= 0 {
			i += 5
			if utf16.IsSurrogate(r) {
				r = utf16.DecodeRune(r, escaped(content[i+1:]))
				i += 6
			}
			to = utf8.AppendRune(to, r)
			continue
		}
		i++
		c := content[i]
		switch c {
		case 'b', 'f', 'n', 'r', 't':
			c = '\n' // Any control character will do: all are refused.
		}
		to = append(to, c)
	}
	return to
}
