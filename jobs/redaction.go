package jobs

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"shelld.dev/shelld/jobs/internal/keeper"
	"shelld.dev/shelld/jobs/internal/ports"
	"shelld.dev/shelld/jobs/internal/proc"
	"shelld.dev/shelld/jobs/internal/redact"
)

// A redaction removes a job's secret values from all that the job shows. If there are no secrets, the cost is the load
// of one pointer for each read.
type redaction struct {
	set atomic.Pointer[redact.Set] // nil: there are no secrets

	mu  sync.Mutex
	own []string // values that are secret only in this job: typed, or no longer in the vault
	end bool     // the job produces no more output

	// For a shell with integration: the command line that it was started with, cut as command lines of processes are,
	// and the command line that the client wanted. wanted is shown in place of launched. Both are set before any other
	// goroutine can use them.
	launched, wanted string
}

// mostOwn bounds the number of own values. The oldest values are dropped first.
const mostOwn = 100

// hide makes a value secret in this job from now on, besides the current values of the vault. An empty value adds
// nothing. Any goroutine may call it.
func (j *base) hide(value string) {
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

// hideTyped makes the answer of the person at the client secret, since a program may print it. Text that a client
// writes by itself is treated like any other output if it is shown.
func (j *base) hideTyped(data []byte) { j.hide(strings.TrimSpace(string(data))) }

// forgetOwn drops the job's own secret values when the job produces no more output. It first removes them from the
// job's information.
func (j *base) forgetOwn() {
	j.info = j.clean(j.info)
	h := &j.redaction
	h.mu.Lock()
	defer h.mu.Unlock()
	h.own, h.end = nil, true
	h.set.Store(j.mgr.vault.with(nil))
}

// text returns a text without secret values.
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

// command is like text, for the command line of a process, which may be cut off.
func (h *redaction) command(line string) string {
	if h.launched != "" && line == h.launched {
		line = h.wanted
	}
	if s := h.set.Load(); s != nil {
		return s.CleanPart(line)
	}
	return line
}

// process returns p without secret values, or nil for nil.
func (h *redaction) process(p *Process) *Process {
	if p == nil || h.set.Load() == nil && h.launched == "" {
		return p
	}
	return &Process{p.PID, h.command(p.Command)}
}

// clean returns the information about a job without secret values. Names, groups and file paths are not changed.
func (j *base) clean(info Info) Info {
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

// waiting returns w without secret values, or nil for nil.
func (h *redaction) waiting(w *WaitingForInput) *WaitingForInput {
	if w == nil || h.set.Load() == nil {
		return w
	}
	c := *w
	c.Prompt, c.Why = h.text(c.Prompt), h.text(c.Why)
	return &c
}

// listeners removes secret values from the listeners in f.
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

// hint returns a hint without secret values, or nil for nil.
func (h *redaction) hint(hint *Hint) *Hint {
	if hint == nil {
		return nil
	}
	return &Hint{hint.Kind, h.text(hint.Command), h.texts(hint.Suggestions), h.text(hint.Path)}
}

// message is like text, for a message, which may quote the secret value.
func (h *redaction) message(text string) string {
	if s := h.set.Load(); s != nil && text != "" {
		return s.CleanMessage(text)
	}
	return text
}

// CleanText returns a message without the values that are secret in all jobs.
func (m *services) CleanText(text string) string { return m.common().message(text) }

// common returns a redaction with the values that are secret in all jobs.
func (m *services) common() *redaction {
	h := &redaction{}
	h.set.Store(m.vault.with(nil))
	return h
}

// CleanLog returns a logger that removes the values that are secret in all jobs.
func (m *services) CleanLog(l *slog.Logger) *slog.Logger {
	return slog.New(cleanHandler{l.Handler(), m})
}

// A cleanHandler removes secret values from log records before they are formatted: a format may escape some of the
// bytes of a value.
type cleanHandler struct {
	slog.Handler
	m *services
}

// Handle passes the cleaned record on.
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

// WithAttrs and WithGroup return handlers that also remove secret values.
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

// attr returns a without secret values. A value that is not text becomes text only if removing secret values changes
// it.
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

// foreground returns the foreground process, or nil if none was found.
func (h *redaction) foreground(f proc.Foreground) *Process {
	if f.PID == 0 {
		return nil
	}
	return &Process{f.PID, h.command(f.Command)}
}

func (h *redaction) processes(list []keeper.Proc) (all []Process) {
	for _, one := range list {
		all = append(all, Process{one.PID, h.command(one.Command)})
	}
	return all
}

// Secret values are replaced by *** in all data that comes from a job, before it is stored. No reader of output,
// events, files, errors or the log sees them.
//
//	SetSecret     -> vault   -> every job, including running ones (variables.go)
//	AnswerSecret  -> the job that has asked for it (redaction.go)
//
// They are kept only in memory, and no method returns them.

// A vault holds the values that are secret in all jobs.
type vault struct {
	mu     sync.Mutex
	values map[string]string // by the name under which each was set
	set    *redact.Set       // of all values; nil: there are none

	changing sync.Mutex // held while a value changes and the jobs get the change, so that they get all in order
}

// The limits for secrets at a time. Each byte costs about 25 bytes of memory, and up to four times as many if the value
// has several lines. Each value makes the reading of output a little slower.
const (
	MaxSecrets     = 1000
	MaxSecretBytes = 256 << 10 // of all values together
)

func (v *vault) value(name string) (value string, is bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	value, is = v.values[name]
	return value, is
}

func (v *vault) names() (all []string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for name := range v.values {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

// roomFor returns an error if the value under this name would exceed a limit.
func (v *vault) roomFor(name, value string) *Error {
	v.mu.Lock()
	defer v.mu.Unlock()
	bytes, others := int64(len(value)), 0
	for n, other := range v.values {
		if n != name {
			bytes += int64(len(other))
			others++
		}
	}
	limit, most := "", int64(0)
	switch {
	case others >= MaxSecrets:
		limit, most = "secrets", MaxSecrets
	case bytes > MaxSecretBytes:
		limit, most = "secretBytes", MaxSecretBytes
	default:
		return nil
	}
	e := errorf(CodeLimitExceeded, "the limit on secret values is reached (%s: %d); unset some, or set this one without secret", limit, most)
	e.Limit, e.Max = limit, most
	return e
}

func (v *vault) change(change func(map[string]string)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.values == nil {
		v.values = map[string]string{}
	}
	change(v.values)
	v.set = v.compile(nil)
}

// with returns the set of all values in the vault and the given others; nil if there are none.
func (v *vault) with(others []string) *redact.Set {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(others) == 0 {
		return v.set
	}
	return v.compile(others)
}

func (v *vault) compile(others []string) *redact.Set {
	var forms []string
	for _, value := range v.values {
		forms = append(forms, redact.Forms(value)...)
	}
	for _, value := range others {
		forms = append(forms, redact.Forms(value)...)
	}
	if len(forms) == 0 {
		return nil
	}
	return redact.New(forms)
}
