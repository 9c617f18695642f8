package rpc

import (
	"unicode/utf8"

	"shelld.dev/shelld/jobs"
)

// sizeOf returns roughly the maximum number of bytes of JSON in an answer for a result of the engine: its texts, and
// those of the output that the answer quotes.
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
		return outcomeSize(&o) + textSize(r.Command.Cwd) + quotedSize(map[jobs.Stream]jobs.Range{jobs.PTY: r.Output}, o.Spec)
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

// listedSize is roughly the size of an item without its texts.
const listedSize = 128

// textSize returns the maximum number of bytes of a text in JSON. For a text that is too long for a small answer
// anyway, it returns the text's length.
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
			n += 2 // U+FFFD, if it is not UTF-8
		}
	}
	return int64(n)
}

func infoSize(i *jobs.Info) int64 {
	n := 1024 + textSize(or(i.Command, "")) + textSize(i.Cwd) + textSize(i.Description) + textSize(i.Title)
	n += textSize(i.Group) + textSize(i.CurrentDirectory) + waitingSize(i.Waiting)
	if i.Foreground != nil {
		n += textSize(i.Foreground.Command) + listedSize
	}
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
			n += groupSize(g)
		}
		for name, g := range o.Match.Named {
			n += textSize(name) + groupSize(g)
		}
	}
	if o.Command != nil { // the outcome has only so much of its text
		n += min(textSize(o.Command.Text), escapedBytes*(finishedText+utf8.UTFMax)) + textSize(o.Command.Cwd) + 2*listedSize
	}
	n += waitingSize(o.State.Waiting)
	if o.Spec != nil && o.Spec.Screen {
		n += smallAnswer
	}
	return n
}

// groupSize returns the maximum number of bytes of a group of a match, without its name.
func groupSize(group *string) int64 { return textSize(or(group, "")) + int64(len(`"":null,`)) }

func waitingSize(w *jobs.WaitingForInput) int64 {
	if w == nil {
		return 0
	}
	return textSize(w.Prompt) + textSize(w.Why) + 2*listedSize
}

// quotedSize returns the maximum number of bytes of JSON for the output in an answer.
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
