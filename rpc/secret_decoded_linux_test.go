package rpc_test

import (
	"cmp"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"shelld.dev/shelld/schema"
)

const hunter = "hunter2hunter2"

// leakFinder is a session with one secret value. It records everything that the server sends, logs and stores.
type leakFinder struct {
	*session
	log *strings.Builder
	dir string
}

func findLeaks(t *testing.T) *leakFinder {
	t.Helper()
	f := &leakFinder{log: &strings.Builder{}, dir: filepath.Join(t.TempDir(), "state")}
	f.session = open(t, func(set *settings) {
		set.server.Log = slog.New(slog.NewTextHandler(f.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	f.initialize("capabilities", obj{"ack": true}, "options", obj{"persist": obj{"directory": f.dir}, "events": []string{"output", "stateChanged", "waitingForInput", "exited", "closed"}})
	do[schema.EnvSetResult](f.session, "env/set", obj{"name": "HUNTER", "value": hunter, "secret": true})
	return f
}

// none ends the server and fails for every message, log line and file that contains the value.
func (f *leakFinder) none() {
	f.t.Helper()
	f.quit()
	f.mu.Lock()
	for _, l := range f.session.log {
		if !l.sent && strings.Contains(string(l.body), hunter) {
			f.t.Errorf("sent: %s", l.body)
		}
	}
	f.mu.Unlock()
	if strings.Contains(f.log.String(), hunter) {
		f.t.Errorf("logged: %s", f.log)
	}
	files := 0
	err := filepath.WalkDir(f.dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		b, err := os.ReadFile(path)
		if strings.Contains(string(b), hunter) {
			f.t.Errorf("%s has it: %s", filepath.Base(path), b)
		}
		return err
	})
	if err != nil || files == 0 {
		f.t.Errorf("%d files, %v", files, err)
	}
}

// TestDecodedSecrets: a value that is encoded in the output, and becomes whole when the server decodes it or removes
// the bytes in between, is replaced: in titles, directories and prompts, wherever they are sent or stored.
func TestDecodedSecrets(t *testing.T) {
	f := findLeaks(t)
	for name, c := range map[string]struct{ output, title, cwd, prompt string }{
		"title with a C0 control":       {output: `\033]0;hunter2\001hunter2 a\007`, title: "*** a"},
		"title with a C1 control":       {output: `\033]2;hunter2\302\205hunter2 a\033\\`, title: "*** a"},
		"title with DEL":                {output: `\033]2;hunter2\177hunter2 a\007`, title: "*** a"},
		"title that is pushed":          {output: `\033]0;hunter2\001hunter2\007\033[22;0t\033]0;b\007\033[23;0t`, title: "***"},
		"title that is pushed only":     {output: `\033]0;hunter2\001hunter2\007\033[22;0t\033]0;b\007`, title: "b"},
		"percent-encoded directory":     {output: `\033]7;file:///hunter2%%68unter2\007`, cwd: "/***"},
		"directory of VS Code":          {output: `\033]633;P;Cwd=/a/hunter2\\x68unter2\007`, cwd: "/a/***"},
		"prompt with SGR":               {output: `hunter2\033[1mhunter2: `, prompt: "***:"},
		"prompt with a cursor move":     {output: `hunter2 hunter2: \033[10D\033[P\033[9C`, prompt: "***:"},
		"prompt with C0 and DEL":        {output: `hunter2\001\177hunter2: `, prompt: "***:"},
		"prompt on a full screen":       {output: `\033[?1049hhunter2\033[1mhunter2: `, prompt: "***:"},
		"prompt that is drawn in parts": {output: `\rhunter2hun\rhunter2\033[4Gter2hunter2: `, prompt: "***:"},
	} {
		h := f.pty("stty -echo; printf '" + c.output + "ready'; read x")
		if c.prompt == "" {
			f.see(h, "ready")
		}
		f.await(h, obj{"input": true}, "from", "start", "format", "text")
		i := f.get(h)
		equal(t, name+": the prompt", str(i.WaitingForInput.Prompt), strings.TrimPrefix(c.prompt+" ready", " "))
		equal(t, name+": the title", or(i.Title), c.title)
		equal(t, name+": the directory", or(i.CurrentDirectory), c.cwd)
		if c.prompt == "" { // the drawn text of a prompt is output
			for _, format := range []string{"ansi", "cells", "text"} {
				equal(t, name+": the title of the screen", f.screen(h, "format", format).Title, c.title)
			}
		}
		f.readBytes(h)
		do[schema.JobListResult](f.session, "job/list", obj{})
		f.write(h, "\r")
		f.exit(h)
		title, cwd := "", ""
		for _, e := range f.all(h, "job/stateChanged") {
			title, cwd = cmp.Or(or(e.Title), title), cmp.Or(or(e.Cwd), cwd)
		}
		equal(t, name+": the title of the last event", title, c.title)
		equal(t, name+": the directory of the last event", cwd, c.cwd)
	}
	f.none()
}

// TestDecodedSecretsOfShells: the directory, commands and variables that a shell reports are decoded as well.
func TestDecodedSecretsOfShells(t *testing.T) {
	f := findLeaks(t)
	h := f.shell("cwd", t.TempDir())
	for _, command := range []string{`d=hunter2; mkdir $d$d`, `cd $d$d`, `export A=$d$d`, `./$d$d`, `cd hunter2$d`, `: $'\x68unter2hunter2'`} {
		f.exec(h, command)
	}
	f.write(h, "d=hunter2; : hunter2hunter\x16\x012\x7f\x7f2; ./$d$d\r")
	f.exec(h, "true")
	equal(t, "the directory", filepath.Base(or(f.get(h).CurrentDirectory)), "***")
	do[schema.EnvListResult](f.session, "env/list", obj{"handle": h})
	equal(t, "A", or(do[schema.EnvGetResult](f.session, "env/get", obj{"handle": h, "name": "A"}).Value), "***")
	do[schema.JobListResult](f.session, "job/list", obj{})
	f.kill(h)
	f.none()
}

// TestSecretsInErrorData: no member of an error's data contains the value, in whatever form the client has sent it.
func TestSecretsInErrorData(t *testing.T) {
	f := findLeaks(t)
	h := f.pty("cat")
	for _, c := range []struct {
		method string
		params obj
	}{
		{"job/get", obj{"handle": hunter}},
		{"job/kill", obj{"handle": "a " + hunter + " b"}},
		{"job/write", obj{"handle": h, "keys": []string{hunter}}},
		{"job/write", obj{"handle": h, "keys": []string{"Ctrl-" + hunter}}},
		{"job/start", obj{"command": "true", "cwd": "/" + hunter}},
		{"job/start", obj{"argv": []string{hunter}}},
		{"job/start", obj{"command": "true", "shell": hunter}},
		{"job/start", obj{"command": "true", "stdin": obj{"file": "/" + hunter + "/x"}}},
		{"job/run", obj{"command": "true", hunter: 1}},
		{"job/run", obj{"command": "true", "mode": hunter}},
		{"job/watch", obj{"handle": h, "pattern": "(" + hunter}},
		{"job/watch", obj{"handle": h, "pattern": "x", "flags": hunter}},
		{"job/resize", obj{"handle": h, "cols": hunter}},
		{"env/set", obj{"name": hunter + "=", "value": "a"}},
		{"job/signal", obj{"handle": h, "signal": hunter}},
		{"job/subscribe", obj{"handle": h, "from": obj{hunter: 1}}},
		{"job/exec", obj{"handle": h, "command": hunter}},
		{"job/search", obj{"pattern": "x", "cursor": obj{"handle": h, "stream": "pty", "offset": 0, "search": hunter}}},
		{hunter, obj{}},
	} {
		f.lastID++
		call, body := f.request(strconv.Itoa(f.lastID), c.method, c.params)
		f.put(body, schema.ValidateParams(c.method, []byte(encode(c.params))) == nil)
		if e := call.answer().Error; e == nil {
			t.Errorf("%s %v: no error", c.method, c.params)
		} else if strings.Contains(string(e.Data), hunter[:8]) || strings.Contains(e.Message, hunter[:8]) {
			t.Errorf("%s %v: %s %s", c.method, c.params, e.Message, e.Data)
		}
	}
	f.sendBad(fmt.Sprintf(`{"jsonrpc":"2.0","method":"job/ack","params":{"handle":%d,"stream":%q,"offset":1}}`, h, hunter))
	f.wait("log/message", func() bool {
		return slices.ContainsFunc(f.events, func(e event) bool { return e.Method == "log/message" })
	})
	f.kill(h)
	f.none()
}

func or(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
