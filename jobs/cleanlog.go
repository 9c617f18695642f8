package jobs

import (
	"context"
	"fmt"
	"log/slog"
)

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
