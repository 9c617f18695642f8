package rpc

import (
	"unicode/utf8"

	"shelld/jobs"
)

// sizeOf is about how many bytes of JSON an answer will have at most that is made of a result of the engine's: the
// texts in it, and those of the output that it quotes.
func sizeOf(result any) (n int64) {
	switch r := result.(type) {
	case jobs.StartResult:
		return infoSize(&r.Info) + outcomeSize(r.Outcome)
	case jobs.Info:
		return infoSize(&r)
	case jobs.Outcome:
		return outcomeSize(&r)
	case jobs.ExecResult:
		o := r.Outcome
		return outcomeSize(&o) + quotedSize(map[jobs.Stream]jobs.Range{jobs.PTY: r.Output}, o.Spec)
	case jobs.WriteResult:
		return outcomeSize(r.Outcome)
	case jobs.KillResult:
		n = answerMembers
		for i := range r.Killed {
			n += textSize(r.Killed[i].Command) + listedSize
		}
		for i := range r.Survivors {
			n += textSize(r.Survivors[i].Command) + listedSize
		}
	case []jobs.Variable:
		for i := range r {
			n += textSize(r[i].Name) + textSize(r[i].Value) + listedSize
		}
	case []jobs.ShellCommand:
		for i := range r {
			n += textSize(r[i].Text) + textSize(r[i].Cwd) + 2*listedSize
		}
	case *jobs.Error:
		return outcomeSize(r.Outcome)
	}
	return n
}

// listedSize is about what the members of an item take beside its texts.
const listedSize = 128

// textSize is how many bytes a text takes in JSON at most, or that it is too long for a small answer.
func textSize(text string) int64 {
	if len(text) > smallAnswer {
		return int64(len(text))
	}
	n := len(text)
	for i := range len(text) {
		switch c := text[i]; {
		case c < ' ':
			n += escapedBytes - 1
		case c == '"', c == '\\':
			n++
		case c >= utf8.RuneSelf:
			n += 2 // U+FFFD, if it is no UTF-8
		}
	}
	return int64(n)
}

func infoSize(i *jobs.Info) int64 {
	n := 1024 + textSize(or(i.Command, "")) + textSize(i.Cwd) + textSize(i.Description) + textSize(i.Title)
	for _, a := range i.Argv {
		n += textSize(a) + 3
	}
	for _, w := range i.Watches {
		n += textSize(w.Pattern) + listedSize
	}
	for _, p := range i.Background {
		n += textSize(p.Command) + listedSize
	}
	return n + int64(len(i.Ports))*listeningPortBytes
}

func outcomeSize(o *jobs.Outcome) int64 {
	if o == nil {
		return 0
	}
	n := answerMembers + quotedSize(o.Output, o.Spec)
	if o.Match != nil {
		n += textSize(o.Match.Text) + textSize(o.Match.Line)
		for _, g := range o.Match.Groups {
			n += textSize(or(g, "")) + 4
		}
		for name, g := range o.Match.Named {
			n += textSize(name) + textSize(or(g, "")) + 8
		}
	}
	if o.Command != nil {
		n += min(textSize(o.Command.Text), smallAnswer) + textSize(o.Command.Cwd) + 2*listedSize
	}
	if w := o.State.Waiting; w != nil {
		n += textSize(w.Prompt) + textSize(w.Why)
	}
	if o.Spec != nil && o.Spec.Screen {
		n += smallAnswer
	}
	return n
}

// quotedSize is how many bytes of JSON the output of an answer takes at most.
func quotedSize(output map[jobs.Stream]jobs.Range, spec *jobs.WaitSpec) (n int64) {
	for _, r := range output {
		length := r.To - r.From
		if spec != nil {
			length = min(length, int64(spec.MaxBytes))
		}
		n += escapedBytes * length
	}
	return n
}
