package rpc

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"shelld.dev/shelld/jobs"
	"shelld.dev/shelld/schema"
)

// The lease of a job is in its info, which fits the schema. A job without a lease has none of its members.
func TestLeaseOnTheWire(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 6000000, time.UTC)
	for _, c := range []struct {
		info jobs.Info
		want string
	}{
		{jobs.Info{}, `{}`},
		{jobs.Info{Lease: jobs.Lease{Owner: "ed", Keep: true, Grace: time.Minute}}, `{"startedBy":"ed","onDetach":"keep"}`},
		{jobs.Info{Lease: jobs.Lease{Owner: "ed", Grace: time.Minute}, EndsAt: at}, `{"startedBy":"ed","onDetach":"end","detachGraceMs":60000,"endsAt":"2026-01-02T03:04:05.006Z"}`},
		{jobs.Info{Lease: jobs.Lease{Owner: "ed"}}, `{"startedBy":"ed","onDetach":"end","detachGraceMs":0}`},
		{jobs.Info{Lease: jobs.Lease{Keep: true}}, `{"onDetach":"keep"}`},
	} {
		i := c.info
		i.Handle, i.Status, i.Mode, i.PID, i.StartedAt, i.Argv, i.Cwd = 1, jobs.StatusClosed, jobs.ModePipe, 5, at, []string{"x"}, "/"
		i.EndedAt, i.Exit, i.OutputDirectory = at, &jobs.Exit{Signal: "SIGTERM", Reason: jobs.ReasonDetached}, "/state/s/1"
		b, err := infoFile(i)
		var got struct {
			StartedBy     *string        `json:"startedBy,omitempty"`
			OnDetach      *string        `json:"onDetach,omitempty"`
			DetachGraceMs *int64         `json:"detachGraceMs,omitempty"`
			EndsAt        *string        `json:"endsAt,omitempty"`
			Exit          map[string]any `json:"exit,omitempty"`
		}
		if err = errors.Join(err, schema.ValidateStored(b), json.Unmarshal(b, &got)); err != nil {
			t.Errorf("%s: %v", b, err)
		}
		if got.Exit["reason"] != "detached" {
			t.Errorf("exit %v", got.Exit)
		}
		got.Exit = nil
		if text, _ := json.Marshal(got); string(text) != c.want {
			t.Errorf("%s, want %s", text, c.want)
		}
	}
}
