package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"syscall"
	"testing"
)

// A desk is a person's terminal: a job of another session that runs shelld attach.
type desk struct {
	*frontClient
	handle int
}

// sit starts shelld attach in a terminal of so many columns and rows, under a shell that prints the exit status and the
// terminal's modes.
func (h *hosted) sit(f *frontClient, cols, rows int, args ...string) *desk {
	h.Helper()
	words := append([]string{"shelld", "attach"}, args...)
	for i, w := range words {
		words[i] = shellWord(w)
	}
	line := `trap : TERM; before=$(stty -g); ` + strings.Join(words, " ") + `; echo "status $?"; [ "$(stty -g)" = "$before" ] && echo restored; exec sleep 300`
	var r struct{ Job struct{ Handle int } }
	f.call("job/start", map[string]any{
		"argv": []string{"sh", "-c", line}, "mode": "pty", "cols": cols, "rows": rows,
		"env": map[string]string{"XDG_STATE_HOME": h.state, "TERM": "xterm-256color"},
	}, &r)
	return &desk{f, r.Job.Handle}
}

func (d *desk) keys(input string) {
	d.Helper()
	d.call("job/write", map[string]any{"handle": d.handle, "input": input}, nil)
}

// shows waits until the screen of a job matches, and returns it.
func (f *frontClient) shows(handle any, pattern string) string {
	f.Helper()
	var r struct {
		Outcome struct {
			Reason string
			Screen struct{ Lines []string }
		}
	}
	f.call("job/wait", map[string]any{
		"handle": handle, "until": []any{map[string]any{"pattern": pattern, "flags": "m", "on": "screen"}},
		"format": "screen", "timeoutMs": watchdog.Milliseconds(),
	}, &r)
	screen := strings.Join(r.Outcome.Screen.Lines, "\n")
	if r.Outcome.Reason != "pattern" {
		f.Fatalf("%q does not appear (%s) on the screen\n%s", pattern, r.Outcome.Reason, screen)
	}
	return screen
}

// refused makes a request that is to fail. It returns the data of the error.
func (f *frontClient) refused(method string, params any) (data struct {
	Kind, Holder string
	Human        bool
}) {
	f.Helper()
	f.id++
	b, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": f.id, "method": method, "params": params})
	if _, err := f.in.Write(append(b, '\n')); err != nil {
		f.Fatal(err)
	}
	for {
		line, err := f.lines.ReadBytes('\n')
		if err != nil {
			f.Fatal(err)
		}
		var m struct {
			ID    int
			Error *struct{ Data json.RawMessage }
		}
		if err := json.Unmarshal(line, &m); err != nil {
			f.Fatal(err)
		}
		if m.ID != f.id {
			continue
		}
		if m.Error == nil {
			f.Fatalf("%s was answered: %s", method, line)
		}
		if err := json.Unmarshal(m.Error.Data, &data); err != nil {
			f.Fatal(err)
		}
		return data
	}
}

// agent connects a client to the session work.
func (h *hosted) agent(id string, human bool) *frontClient {
	h.Helper()
	f := h.connect("-session", "work")
	h.Cleanup(func() { h.run("sessions", "end", "work") }) // The second time it has ended already.
	f.call("initialize", map[string]any{
		"options": map[string]any{"events": []string{}},
		"session": map[string]any{"clientId": id, "human": human},
	}, nil)
	return f
}

func (h *hosted) home() *frontClient {
	h.Helper()
	f := h.connect("-session", "desk")
	h.Cleanup(func() { h.run("sessions", "end", "desk") })
	f.call("initialize", map[string]any{"options": map[string]any{"events": []string{}}}, nil)
	return f
}

// A person takes over from an agent in vim, types, and gives the input back.
func TestAttachTakesAndGivesBack(t *testing.T) {
	needShell(t, "vim")
	h := newHosted(t)
	agent := h.agent("agent", false)
	agent.call("job/start", map[string]any{"argv": []string{"vim", "-u", "NONE", "-N", "-n", "-i", "NONE"}, "name": "edit", "mode": "pty", "cols": 80, "rows": 24}, nil)
	write := func(input string) map[string]any { return map[string]any{"handle": "edit", "input": input} }
	agent.shows("edit", "^~$")
	agent.call("job/write", write("ione from the agent\r\x1b"), nil)
	agent.shows("edit", "one from the agent")

	home := h.home()
	person := h.sit(home, 100, 12, "edit") // Without -session: the other session has no such job.
	person.shows(person.handle, "^one from the agent$")
	screen := agent.shows("edit", "^~$")
	if n := strings.Count(screen, "\n") + 1; n != 12 {
		t.Errorf("the terminal of the job has %d rows, not those of the person:\n%s", n, screen)
	}
	if got := agent.refused("job/write", write("x")); got.Kind != "inputHeld" || !got.Human || got.Holder == "agent" {
		t.Errorf("the agent's write is refused with %+v", got)
	}
	person.keys("otwo from the person\x1b")
	person.shows(person.handle, "^two from the person$")
	agent.shows("edit", "^two from the person$")
	person.keys("\x1c\x1c")
	person.shows(person.handle, "^shelld attach: detached from job 1 of the session work, which goes on; agent holds its input$")
	person.shows(person.handle, "^status 0\nrestored$")
	var job struct{ Job struct{ InputHolder string } }
	agent.call("job/get", map[string]any{"handle": "edit"}, &job)
	if job.Job.InputHolder != "agent" {
		t.Errorf("the input is held by %q", job.Job.InputHolder)
	}
	agent.call("job/write", write("othree from the agent\x1b"), nil)
	agent.shows("edit", "^three from the agent$")
}

// The end of the job is the end of attach, with its exit status. A single detach key reaches the job.
func TestAttachEndsWithTheJob(t *testing.T) {
	h := newHosted(t)
	agent := h.agent("agent", false)
	agent.call("job/start", map[string]any{"argv": []string{"sh", "-c", `stty raw -echo; printf 'ready\r\n'; c=$(head -c 2 | od -An -tx1); printf 'got%s\r\n' "$c"; stty sane; exit 7`}, "mode": "pty"}, nil)
	agent.shows(1, "^ready$")
	home := h.home()
	person := h.sit(home, 80, 24, "-session", "work", "1")
	person.shows(person.handle, "^ready$")
	person.keys("\x1cx")
	person.shows(person.handle, "^got 1c 78$")
	person.shows(person.handle, "^status 7\nrestored$")

	// Afterwards it shows the last screen.
	person = h.sit(home, 80, 24, "-session", "work", "1")
	person.shows(person.handle, `^ready\ngot 1c 78\nshelld attach: job 1 of the session work has ended; "shelld jobs" `)
	person.shows(person.handle, "^status 7\nrestored$")
}

// -view draws the job's screen, cut to the terminal, and types nothing.
func TestAttachView(t *testing.T) {
	h := newHosted(t)
	agent := h.agent("agent", false)
	agent.call("job/start", map[string]any{"argv": []string{"sh", "-c", `printf '%0110d\r\n' 7; exec cat`}, "mode": "pty", "cols": 120, "rows": 30}, nil)
	agent.shows(1, "7$")
	home := h.home()
	person := h.sit(home, 100, 10, "-view", "1", "-session", "work")
	person.shows(person.handle, "^0{100}\n[^]*job 1 of work, cut from 120x30; Ctrl-. Ctrl-.: detach")
	person.keys("typed\r")
	agent.call("job/write", map[string]any{"handle": 1, "input": "from the agent\r"}, nil)
	screen := person.shows(person.handle, "^from the agent\nfrom the agent$")
	if strings.Contains(screen, "typed") {
		t.Errorf("the keys reached the job:\n%s", screen)
	}
	person.keys("\x1c\x1c")
	person.shows(person.handle, "; agent holds its[^]*^status 0\nrestored$")
}

// A person whose input is taken away sees that, and takes it again.
func TestAttachTakenAway(t *testing.T) {
	h := newHosted(t)
	agent := h.agent("agent", false)
	agent.call("job/start", map[string]any{"argv": []string{"cat"}, "mode": "pty"}, nil)
	home := h.home()
	person := h.sit(home, 110, 24, "-session", "work", "1")
	person.keys("first\r")
	person.shows(person.handle, "^first\nfirst$")
	ada := h.agent("ada", true)
	ada.call("job/takeInput", map[string]any{"handle": 1, "force": true}, nil)
	person.shows(person.handle, "^ada has taken the input; Ctrl-. t: take it; Ctrl-. Ctrl-.: detach")
	person.keys("nothing\r\x1ct")
	if got := ada.awaitHeld(); got == "ada" {
		t.Errorf("the input is still held by %s", got)
	}
	person.keys("second\r")
	if screen := person.shows(person.handle, "^first\nfirst\nsecond\nsecond$"); strings.Contains(screen, "nothing") {
		t.Errorf("keys of another time reached the job:\n%s", screen)
	}
	person.keys("\x1c\x1c")
	person.shows(person.handle, "; ada holds its[^]*^status 0\nrestored$")
}

// awaitHeld returns the holder of the input of job 1 once that is another client.
func (f *frontClient) awaitHeld() string {
	f.Helper()
	for {
		var r struct{ Job struct{ InputHolder string } }
		f.call("job/get", map[string]any{"handle": 1}, &r)
		if r.Job.InputHolder != "ada" {
			return r.Job.InputHolder
		}
	}
}

// Each query of a program gets one answer.
func TestAttachAnswersOnce(t *testing.T) {
	h := newHosted(t)
	agent := h.agent("agent", false)
	// What comes behind the answer of DA1 is shown: the letter is typed when all answers are there.
	script := `stty raw -echo; printf 'ready\r\n'; head -c 1 >/dev/null; printf '\033[c\033[5nasked\r\n'; got=$(dd bs=1 count=200 2>/dev/null | tr -d '\033' | sed 's/!.*//;q'); printf 'got %s\r\n' "$got"; sleep 300`
	script = strings.Replace(script, "dd bs=1 count=200 2>/dev/null | tr -d '\\033' | sed 's/!.*//;q'", "while c=$(head -c 1) && [ \"$c\" != ! ]; do printf %s \"$c\"; done | tr -d '\\033'", 1)
	agent.call("job/start", map[string]any{"argv": []string{"sh", "-c", script}, "mode": "pty"}, nil)
	agent.shows(1, "^ready$")
	home := h.home()
	person := h.sit(home, 80, 24, "-session", "work", "1")
	person.shows(person.handle, "^ready$")
	person.keys("x")
	person.shows(person.handle, "^asked$")
	person.keys("!") // Behind an answer of the person's terminal, if there was one.
	person.shows(person.handle, `^got \[\?62;22c\[0n$`)
}

// The terminal is restored if the host is killed, and after a signal.
func TestAttachEnds(t *testing.T) {
	h := newHosted(t)
	agent := h.agent("agent", false)
	agent.call("job/start", map[string]any{"argv": []string{"cat"}, "mode": "pty"}, nil)
	home := h.home()
	person := h.sit(home, 100, 24, "-session", "work", "1")
	person.keys("first\r")
	person.shows(person.handle, "^first\nfirst$")
	person.call("job/signal", map[string]any{"handle": person.handle, "signal": "SIGTERM", "target": "foreground"}, nil)
	person.shows(person.handle, "agent holds its input$[^]*^status 143\nrestored$")

	person = h.sit(home, 100, 24, "-session", "work", "1")
	person.keys("second\r")
	person.shows(person.handle, "^second\nsecond$")
	if err := syscall.Kill(h.host("work"), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	person.shows(person.handle, `^shelld attach: the host of the session work is gone; "shelld sessions"[^]*^status 75\nrestored$`)
}

// A job on pipes is only followed.
func TestAttachPipes(t *testing.T) {
	h := newHosted(t)
	agent := h.agent("agent", false)
	agent.call("job/start", map[string]any{"argv": []string{"sh", "-c", "echo one; read x; echo two; exit 3"}, "mode": "pipe", "stdin": "open"}, nil)
	home := h.home()
	person := h.sit(home, 120, 24, "-session", "work", "1")
	person.shows(person.handle, "^shelld attach: job 1 has no terminal[^]*^one$")
	person.keys("\x03")
	person.shows(person.handle, "detached from job 1")
	person = h.sit(home, 120, 24, "-session", "work", "1")
	person.shows(person.handle, "^one$")
	agent.call("job/write", map[string]any{"handle": 1, "input": "\n"}, nil)
	person.shows(person.handle, "^two$[^]*^status 3\nrestored$")
}

func TestDetachKey(t *testing.T) {
	const k = "\x1c"
	for _, c := range []struct {
		typed  []string // pieces, as they are read
		typing bool
		want   string
		asks   keyCommand // of the last piece
	}{
		{[]string{"abc"}, true, "abc", keyNothing},
		{[]string{"a" + k + k + "b"}, true, "a", keyDetach},
		{[]string{"a" + k, k}, true, "a", keyDetach},
		{[]string{k, "\x0e"}, true, k + "\x0e", keyNothing},
		{[]string{k + "t"}, true, k + "t", keyNothing},
		{[]string{k, "t"}, false, "", keyTake},
		{[]string{k, "x" + k, "t"}, false, k + "x", keyTake},
		{[]string{k}, true, "", keyNothing},
	} {
		f := keyFilter{key: defaultDetachKey}
		got, asks := "", keyNothing
		for _, typed := range c.typed {
			var b []byte
			b, asks = f.filter([]byte(typed), c.typing)
			got += string(b)
		}
		if got != c.want || asks != c.asks {
			t.Errorf("%q: the job gets %q, and the command is %d, not %q and %d", c.typed, got, asks, c.want, c.asks)
		}
	}
}

// Where no screen can be drawn, attach says so.
func TestAttachDumb(t *testing.T) {
	h := newHosted(t)
	home := h.home()
	for line, want := range map[string]string{
		"TERM=dumb shelld attach 1":  `^shelld attach: this terminal cannot draw a screen \(TERM is dumb\)`,
		"shelld attach 1 </dev/null": `^shelld attach: stdin is not a terminal`,
		"shelld attach 1 | cat":      `^shelld attach: stdout is not a terminal`,
	} {
		var r struct{ Job struct{ Handle int } }
		home.call("job/start", map[string]any{"argv": []string{"sh", "-c", line}, "mode": "pty", "cols": 150}, &r)
		home.shows(r.Job.Handle, want)
	}
}

func TestAttachErrors(t *testing.T) {
	h := newHosted(t)
	home := h.home()
	for _, c := range []struct {
		args   string
		status int
		want   string
	}{
		{"nosuch", 69, "there is no job nosuch in the session desk; its live jobs are 1"},
		{"-session other 1", 69, "there is no session other"},
	} {
		person := h.sit(home, 150, 24, strings.Fields(c.args)...)
		person.shows(person.handle, fmt.Sprintf("^shelld attach: %s[^]*^status %d\nrestored$", c.want, c.status))
	}
	h.agent("agent", false).call("job/start", map[string]any{"argv": []string{"cat"}, "mode": "pty"}, nil)
	person := h.sit(home, 150, 24, "1")
	person.shows(person.handle, "^shelld attach: there is a job 1 in each of the sessions desk, work; name one with -session\n[^]*^status 69\nrestored$")
	for _, c := range []struct{ args, want string }{
		{"attach", "name one job"},
		{"attach 1 2", "name one job"},
		{"attach 1", "stdin is not a terminal"},
		{"attach -session a/b 1", "cannot be the name of a session"},
		{"attach -detach-key x 1", "give ctrl- and a letter"},
	} {
		if status, out, stderr := h.run(strings.Fields(c.args)...); status != 2 || out != "" || !strings.Contains(stderr, c.want) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: exit status %d, %q, %q", c.args, status, out, stderr)
		}
	}
}
