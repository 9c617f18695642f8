package jobs

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"shelld/jobs/internal/ports"
	"shelld/jobs/internal/redact"
)

// A redaction is what a job takes out of all that comes of it. Where nothing is secret, that
// costs one look at a pointer for each read.
type redaction struct {
	set atomic.Pointer[redact.Set] // nil: nothing

	mu  sync.Mutex
	own []string // values that are secret in this job alone: typed, or not in the vault any more
	end bool     // the job writes nothing any more

	// Of a shell with integration, set before anybody else can see them: how it was started, cut as
	// command lines of processes are, and how it was to be. The one is told in place of the other.
	launched, wanted string
}

// mostOwn bounds them. The oldest ones go.
const mostOwn = 100

// hide has a value be secret in this job from now on, beside those in the vault as they are
// now; "" none. Any goroutine may call it.
func (j *Job) hide(value string) {
	h := &j.redaction
	h.mu.Lock()
	defer h.mu.Unlock()
	if value != "" && !h.end && !slices.Contains(h.own, value) && len(redact.Forms(value)) > 0 {
		if len(h.own) == mostOwn {
			h.own = h.own[1:]
		}
		h.own = append(h.own, value)
	}
	h.set.Store(j.mgr.vault.with(h.own))
}

// hideTyped has what the person at the client has answered be secret: a program may print it.
// What a client writes by itself is output like any other where it is shown.
func (j *Job) hideTyped(data []byte) { j.hide(strings.TrimSpace(string(data))) }

// forgetOwn is for a job that writes nothing any more. What is known of it is clean.
func (j *Job) forgetOwn() {
	j.info = j.clean(j.info)
	h := &j.redaction
	h.mu.Lock()
	defer h.mu.Unlock()
	h.own, h.end = nil, true
	h.set.Store(j.mgr.vault.with(nil))
}

// text returns a text without what is secret.
func (h *redaction) text(text string) string {
	if s := h.set.Load(); s != nil && text != "" {
		return s.Clean(text)
	}
	return text
}

func (h *redaction) bytes(text []byte) []byte {
	if h.set.Load() == nil {
		return text
	}
	return []byte(h.text(string(text)))
}

func (h *redaction) texts(all []string) []string {
	if h.set.Load() == nil {
		return all
	}
	all = slices.Clone(all)
	for i := range all {
		all[i] = h.text(all[i])
	}
	return all
}

// command is text for a command line of a process, which may be cut off.
func (h *redaction) command(line string) string {
	if h.launched != "" && line == h.launched {
		line = h.wanted
	}
	if s := h.set.Load(); s != nil {
		return s.CleanPart(line)
	}
	return line
}

// process is p without what is secret; nil for nil.
func (h *redaction) process(p *Process) *Process {
	if p == nil || h.set.Load() == nil && h.launched == "" {
		return p
	}
	return &Process{p.PID, h.command(p.Command)}
}

// clean is what is known of a job without what is secret. Names, groups and the places of its
// files are as they were chosen.
func (j *Job) clean(info Info) Info {
	h := &j.redaction
	if h.set.Load() == nil {
		return info
	}
	info.Description, info.Cwd, info.Shell = h.text(info.Description), h.text(info.Cwd), h.text(info.Shell)
	if info.Command != nil {
		info.Command = ptr(h.text(*info.Command))
	}
	info.Argv = h.texts(info.Argv)
	info.Title, info.CurrentDirectory, info.ModeReason = h.text(info.Title), h.text(info.CurrentDirectory), h.text(info.ModeReason)
	info.Waiting = h.waiting(info.Waiting)
	info.Foreground = h.process(info.Foreground)
	info.Background = slices.Clone(info.Background)
	for i := range info.Background {
		info.Background[i] = *h.process(&info.Background[i])
	}
	info.Watches = slices.Clone(info.Watches)
	for i := range info.Watches {
		info.Watches[i].Pattern = h.text(info.Watches[i].Pattern)
	}
	return info
}

// waiting is w without what is secret; nil for nil.
func (h *redaction) waiting(w *WaitingForInput) *WaitingForInput {
	if w == nil || h.set.Load() == nil {
		return w
	}
	c := *w
	c.Prompt, c.Why = h.text(c.Prompt), h.text(c.Why)
	return &c
}

// listeners takes what is secret out of those that were found.
func (h *redaction) listeners(f *ports.Found) {
	if h.set.Load() == nil {
		return
	}
	for _, list := range [][]ports.Listener{f.Own, f.Maybe, f.Others} {
		for i := range list {
			list[i].Command = h.command(list[i].Command)
		}
	}
}

// hint is h without what is secret; nil for nil.
func (h *redaction) hint(hint *Hint) *Hint {
	if hint == nil {
		return nil
	}
	return &Hint{hint.Kind, h.text(hint.Command), h.texts(hint.Suggestions), h.text(hint.Path)}
}

// message is text for words about something, which may quote it.
func (h *redaction) message(text string) string {
	if s := h.set.Load(); s != nil && text != "" {
		return s.CleanMessage(text)
	}
	return text
}

// Cleaner returns a function that takes the values that are secret in a job out of words about it,
// or, if there is no such job, those that are secret in all jobs; nil: nothing is secret.
func (m *Manager) Cleaner(id ID) func(string) string {
	h := m.redactionOf(id)
	if h.set.Load() == nil {
		return nil
	}
	return h.message
}

// CleanText is what is said of something, without what is secret in all jobs.
func (m *Manager) CleanText(text string) string { return m.redactionOf(0).message(text) }

// redactionOf is that of a job, or where it is not known, of all.
func (m *Manager) redactionOf(id ID) *redaction {
	m.registry.mu.Lock()
	j := m.registry.jobs[id]
	m.registry.mu.Unlock()
	if j != nil {
		return &j.redaction
	}
	h := &redaction{}
	h.set.Store(m.vault.with(nil))
	return h
}

// CleanLog returns a log that tells nothing of what is secret in all jobs.
func (m *Manager) CleanLog(l *slog.Logger) *slog.Logger {
	return slog.New(cleanHandler{l.Handler(), m})
}

// A cleanHandler takes secret values out of what is logged, before that is put into words:
// a format may escape some of their bytes.
type cleanHandler struct {
	slog.Handler
	m *Manager
}

// Handle passes a record on.
func (h cleanHandler) Handle(ctx context.Context, r slog.Record) error {
	if h.m.vault.with(nil) == nil {
		return h.Handler.Handle(ctx, r)
	}
	clean := slog.NewRecord(r.Time, r.Level, h.m.CleanText(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		clean.AddAttrs(h.attr(a))
		return true
	})
	return h.Handler.Handle(ctx, clean)
}

// WithAttrs and WithGroup keep what is theirs clean, too.
func (h cleanHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return cleanHandler{h.Handler.WithAttrs(h.attrs(attrs)), h.m}
}

func (h cleanHandler) WithGroup(name string) slog.Handler {
	return cleanHandler{h.Handler.WithGroup(name), h.m}
}

func (h cleanHandler) attrs(attrs []slog.Attr) []slog.Attr {
	all := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		all[i] = h.attr(a)
	}
	return all
}

// attr is a without what is secret. What is no text becomes one only where that changes it.
func (h cleanHandler) attr(a slog.Attr) slog.Attr {
	v := a.Value.Resolve()
	switch v.Kind() {
	case slog.KindGroup:
		return slog.Attr{Key: a.Key, Value: slog.GroupValue(h.attrs(v.Group())...)}
	case slog.KindString:
		return slog.String(a.Key, h.m.CleanText(v.String()))
	case slog.KindAny:
		text := fmt.Sprint(v.Any())
		if clean := h.m.CleanText(text); clean != text {
			return slog.String(a.Key, clean)
		}
	}
	return a
}
