//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"shelld.dev/shelld/client"
	"shelld.dev/shelld/cmd/internal/base"
	"shelld.dev/shelld/schema"
	"shelld.dev/shelld/session"
)

// answerTime is how long a host that has accepted a connection may take to answer.
const answerTime = 10 * time.Second

// A member is a connection to a session.
type member struct {
	*client.Conn
	session string
	id      string // of this client
	in, out *os.File
	link    *session.Link
}

// join connects to a session that is alive.
func join(d *session.Directory, name string, view bool, event func(client.Event)) (*member, error) {
	theirIn, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer theirIn.Close()
	out, theirOut, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, in.Close())
	}
	defer theirOut.Close()
	link, err := d.Connect(session.Call{
		Session: name, Existing: true,
		Client: session.Client{PID: os.Getpid(), Name: "shelld attach"}, In: theirIn, Out: theirOut,
	})
	if err != nil {
		return nil, errors.Join(err, in.Close(), out.Close())
	}
	m := &member{client.NewConn(out, in, event, nil), name, "", in, out, link}
	if err := m.initialize(view); err != nil {
		m.leave()
		return nil, err
	}
	return m, nil
}

func (m *member) initialize(view bool) error {
	// Without a clientId: if this process is killed, the input is free at once.
	p := map[string]any{"human": true}
	if view {
		p["role"] = schema.SessionRoleViewer
	}
	var res schema.InitializeResult
	err := m.call("initialize", map[string]any{
		"clientInfo":   map[string]any{"name": "shelld attach", "version": base.Version()},
		"capabilities": map[string]any{"ack": true},
		"options":      map[string]any{"events": []string{}},
		"session":      p,
	}, &res)
	switch {
	case errors.Is(err, client.ErrServerGone):
		return m.gone()
	case err != nil:
		return fmt.Errorf("session %s: %s", m.session, explainCall(err))
	case res.Session == nil:
		return fmt.Errorf("the host of the session %s is of a version without sessions; end it with \"shelld sessions end %[1]s\"", m.session)
	}
	m.id = res.Session.ClientID
	return m.Notify("initialized", struct{}{})
}

// gone returns the error for a host that has ended.
func (m *member) gone() error {
	return &session.Error{Kind: session.Gone, Text: fmt.Sprintf("the host of the session %s is gone; \"shelld sessions\" shows which are there", m.session)}
}

// call makes a request to a host that may hang.
func (m *member) call(method string, params, result any) error {
	sent, err := m.Send(method, params)
	if err != nil {
		return err
	}
	answered := make(chan error, 1)
	go func() { answered <- sent.Await(context.Background(), result) }() // It ends with the connection at the latest.
	late := time.NewTimer(answerTime)
	defer late.Stop()
	select {
	case err := <-answered:
		return err
	case <-late.C:
		return &session.Error{Kind: session.Gone, Text: fmt.Sprintf("the host of the session %s does not answer; see \"shelld sessions show %[1]s\"", m.session)}
	}
}

// leave closes the connection. What is to be said to the host first has been said.
func (m *member) leave() {
	_, _ = m.in.Close(), m.link.Close() // The host closes its ends then.
	_ = m.out.Close()
	<-m.Done()
}

// jobParam returns a handle or a name as the protocol has it.
func jobParam(job string) any {
	if n, err := strconv.ParseInt(job, 10, 64); err == nil {
		return n
	}
	return job
}

// find connects to the session that has the job.
func find(o attachOptions, event func(client.Event)) (*member, *schema.JobInfo, error) {
	d, err := session.Open(o.dir)
	if err != nil {
		return nil, nil, err
	}
	if o.session != "" {
		return findIn(d, o.session, o, event)
	}
	entries, err := d.List()
	if err != nil {
		return nil, nil, err
	}
	var alive []string
	for _, e := range entries {
		if e.Alive {
			alive = append(alive, e.Name)
		}
	}
	switch len(alive) {
	case 0:
		return nil, nil, &noJobError{fmt.Sprintf("there is no live session in %s; \"shelld connect -session NAME\" starts one", d.Path())}
	case 1:
		return findIn(d, alive[0], o, event)
	}
	return findAmong(d, alive, o, event)
}

// findIn connects to a session that should have the job.
func findIn(d *session.Directory, name string, o attachOptions, event func(client.Event)) (*member, *schema.JobInfo, error) {
	m, err := join(d, name, o.view, event)
	if err != nil {
		return nil, nil, err
	}
	var res schema.JobGetResult
	err = m.call("job/get", map[string]any{"handle": jobParam(o.job)}, &res)
	if err == nil {
		return m, &res.Job, nil
	}
	if client.KindOf(err) == schema.KindJobNotFound {
		err = &noJobError{fmt.Sprintf("there is no job %s in the session %s; %s", o.job, name, m.jobs())}
	}
	m.leave()
	return nil, nil, err
}

// jobs describes the live jobs of the session.
func (m *member) jobs() string {
	var res schema.JobListResult
	if err := m.call("job/list", map[string]any{"live": true}, &res); err != nil || len(res.Jobs) == 0 {
		return "it has no live jobs"
	}
	var all []string
	for _, j := range res.Jobs {
		text := strconv.FormatInt(j.Handle, 10)
		if j.Name != nil {
			text += " (" + *j.Name + ")"
		}
		all = append(all, text)
	}
	return "its live jobs are " + strings.Join(all, ", ")
}

// findAmong connects to the one session that has the job. If several do, those with a live one count.
func findAmong(d *session.Directory, names []string, o attachOptions, event func(client.Event)) (*member, *schema.JobInfo, error) {
	var live, ended, failed []string
	for _, name := range names {
		m, job, err := findIn(d, name, o, func(client.Event) {})
		if _, missing := errors.AsType[*noJobError](err); missing {
			continue
		}
		if err != nil {
			failed = append(failed, explainCall(err))
			continue
		}
		m.leave()
		if job.Exit == nil {
			live = append(live, name)
		} else {
			ended = append(ended, name)
		}
	}
	having := live
	if len(live) == 0 {
		having = ended
	}
	switch {
	case len(having) == 1:
		return findIn(d, having[0], o, event)
	case len(having) > 1:
		return nil, nil, &noJobError{fmt.Sprintf("there is a job %s in each of the sessions %s; name one with -session", o.job, strings.Join(having, ", "))}
	}
	text := fmt.Sprintf("there is no job %s in the sessions %s", o.job, strings.Join(names, ", "))
	if len(failed) > 0 {
		text += "; " + strings.Join(failed, "; ")
	}
	return nil, nil, &noJobError{text}
}
