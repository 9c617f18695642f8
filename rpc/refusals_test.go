package rpc_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"shelld.dev/shelld/schema"
)

// A refusal is a request that a server must refuse, with the facts that help to correct it. All are sent in one
// session, with the files and jobs of refusalSetting.
type refusal struct {
	name   string
	method string
	params any
	kind   schema.Kind
	want   obj    // members of data; for invalidParams, of its first error
	says   string // part of the message
}

// refusalSetting creates the files and jobs to which the refusals refer.
func refusalSetting(t *testing.T) *session {
	root := t.TempDir()
	for name, content := range map[string]string{"noexec": "#!/bin/sh\n", "strayinterp": "#!/no/such/interpreter\n", "plain": "", "binary": "\x00\x01\x02"} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"strayinterp", "binary"} {
		if err := os.Chmod(filepath.Join(root, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(root, "dir"), 0o755); err != nil {
		t.Fatal(err)
	}
	s := start(t, "rootDirectory", root)
	s.pty("stty -echo; echo ready; exec cat", "name", "tty")                    // 1
	s.pipe("exec sleep 60", "name", "deaf")                                     // 2
	s.pipe("cat; exec sleep 60", "name", "finished", "stdin", "open")           // 3
	s.pipe("exec <&-; echo ready; sleep 60", "name", "shutin", "stdin", "open") // 4
	s.pipe("exit 7", "name", "gone")                                            // 5
	s.see(1, "ready")
	s.see(4, "ready")
	s.event(5, "job/closed")
	s.write("finished", "", "eof", true)
	return s
}

var long4096 = strings.Repeat("x", 4096)

var long128K = strings.Repeat("x", 128<<10)

func wire(s string) json.RawMessage { return json.RawMessage(s) }

func until(c obj) []obj { return []obj{c} }

var refusals = []refusal{
	{"unknown member", "job/start", obj{"comand": "x"}, schema.KindInvalidParams, obj{"pointer": "/comand", "didYouMean": "command"}, "comand"},
	{"unknown member, deep", "job/start", obj{"command": "x", "wait": obj{"until": until(obj{"patern": "x"})}}, schema.KindInvalidParams, obj{"pointer": "/wait/until/0/patern", "didYouMean": "pattern"}, ""},
	{"wrong type", "job/start", obj{"command": "x", "cols": "80"}, schema.KindInvalidParams, obj{"pointer": "/cols"}, "cols"},
	{"number too large", "job/start", obj{"command": "x", "cols": 65536}, schema.KindInvalidParams, obj{"pointer": "/cols"}, ""},
	{"fraction", "job/wait", obj{"handle": 1.5, "until": []obj{}}, schema.KindInvalidParams, obj{"pointer": "/handle"}, ""},
	{"wrong word", "job/start", obj{"command": "x", "mode": "ptty"}, schema.KindInvalidParams, obj{"pointer": "/mode", "didYouMean": "pty"}, ""},
	{"missing member", "job/get", obj{}, schema.KindInvalidParams, obj{"pointer": ""}, "handle"},
	{"command and argv", "job/start", obj{"command": "x", "argv": []string{"x"}}, schema.KindInvalidParams, nil, "argv"},
	{"empty argv", "job/start", obj{"argv": []string{}}, schema.KindInvalidParams, obj{"pointer": "/argv"}, ""},
	{"a name that is none", "job/start", obj{"command": "x", "name": "1st"}, schema.KindInvalidParams, obj{"pointer": "/name"}, ""},
	{"handle and group", "job/kill", obj{"handle": 1, "group": "g"}, schema.KindInvalidParams, nil, "group"},
	{"neither handle nor group", "job/kill", obj{}, schema.KindInvalidParams, nil, "handle"},
	{"two conditions in one", "job/wait", obj{"handle": 1, "until": until(obj{"exit": true, "bytes": 1})}, schema.KindInvalidParams, obj{"pointer": "/until/0"}, ""},
	{"no condition in one", "job/wait", obj{"handle": 1, "until": until(obj{})}, schema.KindInvalidParams, obj{"pointer": "/until/0"}, ""},
	{"cols of a pipe", "job/start", obj{"command": "x", "mode": "pipe", "cols": 80}, schema.KindInvalidParams, obj{"pointer": "/cols"}, "pty"},
	{"stdin of a terminal", "job/start", obj{"command": "x", "stdin": "open"}, schema.KindInvalidParams, obj{"pointer": "/stdin"}, "pipe"},
	{"stderr of a terminal", "job/run", obj{"command": "x", "mode": "pty", "stderr": "merge"}, schema.KindInvalidParams, obj{"pointer": "/stderr"}, "pipe"},

	{"NUL in argv", "job/start", wire(`{"argv":["printf","a\u0000b"]}`), schema.KindInvalidParams, obj{"pointer": "/argv/1"}, "NUL"},
	{"NUL in command", "job/start", wire(`{"command":"a\u0000b"}`), schema.KindInvalidParams, obj{"pointer": "/command"}, "NUL"},
	{"NUL in cwd", "job/start", wire(`{"command":"x","cwd":"a\u0000b"}`), schema.KindInvalidParams, obj{"pointer": "/cwd"}, "NUL"},
	{"NUL in env", "job/start", wire(`{"command":"x","env":{"A":"a\u0000b"}}`), schema.KindInvalidParams, obj{"pointer": "/env/A"}, "NUL"},
	{"= in the name of a variable", "job/start", obj{"command": "x", "env": obj{"A=B": "c"}}, schema.KindInvalidParams, nil, "env"},

	{"unknown handle", "job/wait", obj{"handle": 999, "until": []obj{}}, schema.KindJobNotFound, nil, "999"},
	{"unknown name", "job/write", obj{"handle": "nobody", "input": "x"}, schema.KindJobNotFound, nil, "nobody"},
	{"huge handle", "job/get", wire(`{"handle":9007199254740991}`), schema.KindJobNotFound, nil, ""},
	{"name in use", "job/start", obj{"command": "x", "name": "tty"}, schema.KindNameInUse, obj{"name": "tty", "handle": 1.0}, "tty"},

	{"pattern of a watch", "job/start", obj{"command": "x", "watch": []obj{{"pattern": "a"}, {"pattern": "ab(c"}}}, schema.KindInvalidPattern, obj{"pattern": "ab(c", "pointer": "/watch/1/pattern"}, ""},
	{"pattern of a start's wait", "job/start", obj{"command": "x", "wait": obj{"until": until(obj{"pattern": "[z-a]"})}}, schema.KindInvalidPattern, obj{"pattern": "[z-a]", "pointer": "/wait/until/0/pattern"}, ""},
	{"pattern of a wait", "job/wait", obj{"handle": 1, "until": until(obj{"pattern": "a**"})}, schema.KindInvalidPattern, obj{"pattern": "a**", "pointer": "/until/0/pattern", "position": 2.0}, ""},
	{"pattern of a write's wait", "job/write", obj{"handle": 1, "input": "lost\n", "wait": obj{"until": until(obj{"pattern": "*"})}}, schema.KindInvalidPattern, obj{"pointer": "/wait/until/0/pattern", "position": 0.0}, ""},
	{"pattern too long", "job/wait", obj{"handle": 1, "until": until(obj{"pattern": long4096 + "x"})}, schema.KindInvalidParams, obj{"pointer": "/until/0/pattern"}, ""},
	{"unknown flag", "job/wait", obj{"handle": 1, "until": until(obj{"pattern": "a", "flags": "g"})}, schema.KindInvalidParams, obj{"pointer": "/until/0/flags"}, ""},
	{"a flag twice", "job/wait", obj{"handle": 1, "until": until(obj{"pattern": "a", "flags": "ii"})}, schema.KindInvalidParams, obj{"pointer": "/until/0/flags"}, "twice"},
	{"flags without a pattern", "job/wait", obj{"handle": 1, "until": until(obj{"bytes": 1, "flags": "i"})}, schema.KindInvalidParams, nil, ""},

	{"command not found", "job/start", obj{"argv": []string{"bsah"}}, schema.KindCommandNotFound, obj{"command": "bsah"}, "bsah"},
	{"command not found, in a run", "job/run", obj{"argv": []string{"pritnf", "x"}}, schema.KindCommandNotFound, obj{"command": "pritnf"}, ""},
	{"path not found", "job/start", obj{"argv": []string{"./nothing"}}, schema.KindCommandNotFound, obj{"command": "./nothing"}, ""},
	{"shell not found", "job/start", obj{"command": "x", "shell": "no-such-shell"}, schema.KindCommandNotFound, obj{"command": "no-such-shell"}, ""},
	{"interpreter not found", "job/start", obj{"argv": []string{"./strayinterp"}}, schema.KindCommandNotFound, obj{"command": "/no/such/interpreter"}, "strayinterp"},
	{"not executable", "job/start", obj{"argv": []string{"./noexec"}}, schema.KindPermissionDenied, obj{"path": "ROOT/noexec"}, "noexec"},
	{"a directory", "job/start", obj{"argv": []string{"./dir"}}, schema.KindPermissionDenied, obj{"path": "ROOT/dir"}, "dir"},
	{"no program of this machine", "job/start", obj{"argv": []string{"./binary"}}, schema.KindPermissionDenied, obj{"path": "ROOT/binary"}, "binary"},

	{"cwd that is not there", "job/start", obj{"command": "x", "cwd": "nowhere"}, schema.KindBadWorkingDirectory, obj{"path": "ROOT/nowhere"}, "nowhere"},
	{"cwd that is a file", "job/run", obj{"command": "x", "cwd": "plain"}, schema.KindBadWorkingDirectory, obj{"path": "ROOT/plain"}, "plain"},
	{"cwd below a file", "job/start", obj{"command": "x", "cwd": "plain/sub"}, schema.KindBadWorkingDirectory, obj{"path": "ROOT/plain/sub"}, ""},

	{"write to an ended job", "job/write", obj{"handle": "gone", "input": "x"}, schema.KindJobExited, obj{"handle": 5.0, "exit": obj{"code": 7.0, "signal": nil, "coreDumped": false, "reason": "exited"}}, "7"},
	{"write to a job without stdin", "job/write", obj{"handle": "deaf", "input": "x"}, schema.KindNotInteractive, obj{"handle": 2.0}, "stdin"},
	{"eof to a job without stdin", "job/write", obj{"handle": "deaf", "eof": true}, schema.KindNotInteractive, obj{"handle": 2.0}, "stdin"},
	{"write after eof", "job/write", obj{"handle": "finished", "input": "x"}, schema.KindNotInteractive, nil, "eof"},
	{"write to a pipe that the job closed", "job/write", obj{"handle": "shutin", "input": "x"}, schema.KindNotInteractive, obj{"handle": 4.0, "bytesWritten": 0.0}, "closed"},
	{"keys to a pipe", "job/write", obj{"handle": "shutin", "keys": []string{"Enter"}}, schema.KindNotInteractive, obj{"handle": 4.0}, ""},
	{"unknown key", "job/write", obj{"handle": "tty", "input": "lost", "keys": []string{"Enter", "Entr"}}, schema.KindInvalidKey, obj{"key": "Entr"}, "Entr"},
	{"line too long", "job/write", obj{"handle": "tty", "input": "lost\n" + long4096 + "\n"}, schema.KindLineTooLong, obj{"handle": 1.0, "max": 4095.0}, "4095"},
	{"line too long, in two", "job/write", obj{"handle": "tty", "input": long4096, "keys": []string{"Enter"}}, schema.KindLineTooLong, obj{"handle": 1.0}, ""},
	{"input queue full", "job/write", obj{"handle": "tty", "input": strings.Repeat("lost\n", 300_000)}, schema.KindInputQueueFull, obj{"handle": 1.0, "max": 1048576.0}, ""},

	{"command condition of a start", "job/start", obj{"command": "x", "wait": obj{"until": until(obj{"command": 1})}}, schema.KindInvalidParams, obj{"pointer": "/wait/until/0/command"}, "job/exec"},
	{"command condition", "job/write", obj{"handle": 1, "input": "lost\n", "wait": obj{"until": []obj{{"exit": true}, {"command": 1}}}}, schema.KindShellIntegrationUnavailable, obj{"handle": 1.0}, ""},

	{"read of a stream that is not there", "job/read", obj{"handle": 1, "stream": "stderr"}, schema.KindInvalidParams, obj{"pointer": "/stream"}, "pty"},
	{"read of two streams", "job/read", obj{"handle": 2}, schema.KindInvalidParams, obj{"pointer": "/stream"}, "stderr"},
	{"read of no byte", "job/read", obj{"handle": 1, "maxBytes": 0}, schema.KindInvalidParams, obj{"pointer": "/maxBytes"}, ""},
	{"pattern on a stream that is not there", "job/wait", obj{"handle": 1, "until": until(obj{"pattern": "a", "stream": "stdout"})}, schema.KindInvalidParams, obj{"pointer": "/until/0/stream"}, "pty"},
	{"watch on a stream that is not there", "job/start", obj{"command": "x", "watch": []obj{{"pattern": "a", "stream": "stdout"}}}, schema.KindInvalidParams, obj{"pointer": "/watch/0/stream"}, ""},
	{"start's wait on a stream that is not there", "job/start", obj{"command": "x", "wait": obj{"until": until(obj{"pattern": "a", "stream": "stderr"})}}, schema.KindInvalidParams, obj{"pointer": "/wait/until/0/stream"}, ""},
	{"one offset for two streams", "job/wait", obj{"handle": 2, "until": []obj{}, "from": 0}, schema.KindInvalidParams, obj{"pointer": "/from"}, "stdout"},
	{"start's wait with one offset for two streams", "job/start", obj{"command": "x", "mode": "pipe", "wait": obj{"until": []obj{}, "from": 0}}, schema.KindInvalidParams, obj{"pointer": "/wait/from"}, ""},
	{"subscribe with one offset for two streams", "job/subscribe", obj{"handle": 2, "from": 0}, schema.KindInvalidParams, obj{"pointer": "/from"}, "stderr"},
	{"subscribe from a stream that is not there", "job/subscribe", obj{"handle": 1, "from": obj{"stdout": 0}}, schema.KindInvalidParams, obj{"pointer": "/from/stdout"}, "pty"},
	{"subscribe from before the start", "job/subscribe", obj{"handle": 1, "from": -1}, schema.KindInvalidParams, obj{"pointer": "/from"}, ""},
	{"subscribe from what was read", "job/subscribe", obj{"handle": 1, "from": "unread"}, schema.KindInvalidParams, obj{"pointer": "/from"}, "start"},
	{"subscribe to an event that is none", "job/subscribe", obj{"handle": 1, "events": []string{"ouptut"}}, schema.KindInvalidParams, obj{"pointer": "/events/0", "didYouMean": "output"}, ""},
	{"subscribe to what was told to its end", "job/subscribe", obj{"handle": "gone", "from": "start"}, schema.KindJobExited, obj{"handle": 5.0}, "job/read"},
	{"subscribe to an unknown job", "job/subscribe", obj{"handle": 999}, schema.KindJobNotFound, nil, "999"},
	{"unsubscribe from an unknown job", "job/unsubscribe", obj{"handle": "nobody"}, schema.KindJobNotFound, nil, "nobody"},
	{"a from that is none", "job/wait", obj{"handle": 1, "until": []obj{}, "from": "begin"}, schema.KindInvalidParams, obj{"pointer": "/from"}, ""},
}

// TestRefusals: each request is refused with its facts and without effect, and the next valid request is answered.
func TestRefusals(t *testing.T) {
	s := refusalSetting(t)
	root := s.get("tty").Cwd
	for _, r := range refusals {
		t.Run(r.name, func(t *testing.T) {
			a := s.beginBad(r.method, r.params).answer()
			if a.Error == nil {
				t.Fatalf("accepted: %.300s", a.Result)
			}
			a.Error.is(t, r.kind)
			checkFacts(t, a.Error, r, root)
			do[schema.JobListResult](s, "job/list", nil)
		})
	}
	// None of them started a job, and none of their input reached the terminal.
	if jobs := do[schema.JobListResult](s, "job/list", nil).Jobs; len(jobs) != 5 {
		t.Errorf("there are %d jobs, want the 5 that were started", len(jobs))
	}
	s.write("tty", "found\n", "wait", obj{"until": until(obj{"pattern": "found"})})
	r := do[schema.JobReadResult](s, "job/read", obj{"handle": "tty", "offset": 0})
	equal(t, "what the terminal has seen", str(r.Text), "ready\r\nfound\r\n")
}

// checkFacts compares the members of data that a refusal is about.
func checkFacts(t *testing.T, f *failure, r refusal, root string) {
	t.Helper()
	var data obj
	if err := json.Unmarshal(f.Data, &data); err != nil {
		t.Fatal(err)
	}
	if r.kind == schema.KindInvalidParams {
		data = data["errors"].([]any)[0].(obj)
	}
	for name, want := range r.want {
		if text, ok := want.(string); ok {
			want = strings.Replace(text, "ROOT", root, 1)
		}
		if got := data[name]; encode(got) != encode(want) {
			t.Errorf("data.%s: %s, want %s; data is %s", name, encode(got), encode(want), f.Data)
		}
	}
	if !strings.Contains(f.Message+string(f.Data), r.says) {
		t.Errorf("neither message nor data speaks of %q: %s %s", r.says, f.Message, f.Data)
	}
}

// TestRefusalLists checks the lists in the data of some errors.
func TestRefusalLists(t *testing.T) {
	s := refusalSetting(t)
	var live []string
	for _, j := range refused[schema.JobNotFoundData](s.begin("job/get", obj{"handle": 999}), schema.KindJobNotFound).Jobs {
		live = append(live, str(j.Name))
	}
	slices.Sort(live)
	if want := []string{"deaf", "finished", "shutin", "tty"}; !slices.Equal(live, want) {
		t.Errorf("live jobs: %v, want %v", live, want)
	}
	keys := refused[schema.InvalidKeyData](s.begin("job/write", obj{"handle": "tty", "keys": []string{"Entr"}}), schema.KindInvalidKey)
	for _, k := range []string{"Enter", "Tab", "Escape", "Up", "Left"} {
		if !slices.Contains(keys.Allowed, k) {
			t.Errorf("allowed keys lack %s: %v", k, keys.Allowed)
		}
	}
	for typo, command := range map[string]string{"bsah": "bash", "pyhton3": "python3", "slep": "sleep"} {
		needs(t, command)
		d := refused[schema.CommandNotFoundData](s.begin("job/start", obj{"argv": []string{typo}}), schema.KindCommandNotFound)
		if !slices.Contains(d.Suggestions, command) {
			t.Errorf("suggestions for %s: %v, want %s among them", typo, d.Suggestions, command)
		}
	}
	p := refused[schema.InvalidPatternData](s.begin("job/wait", obj{"handle": 1, "until": until(obj{"pattern": "äö(x"})}), schema.KindInvalidPattern)
	if p.Position == nil || *p.Position < 2 || *p.Position > 4 {
		t.Errorf("position %d, want that of the group or of the end, in characters", num(p.Position))
	}
}

// TestRefusedNameIsFree: a start that fails releases its name.
func TestRefusedNameIsFree(t *testing.T) {
	s := start(t)
	c := s.begin("job/start", obj{"argv": []string{"no-such-program"}, "name": "n"})
	w := s.begin("job/wait", obj{"handle": "n", "until": []obj{}})
	refused[none](c, schema.KindCommandNotFound)
	refused[none](w, schema.KindJobNotFound)
	h := s.pipe("echo hi", "name", "n")
	equal(t, "output", s.output(h, "stdout"), "hi\n")
}

func TestMaxJobs(t *testing.T) {
	s := start(t, "options", obj{"limits": obj{"maxJobs": 2}})
	a := s.pipe("sleep 60")
	s.pipe("sleep 60")
	d := refused[schema.LimitExceededData](s.begin("job/start", obj{"command": "true"}), schema.KindLimitExceeded)
	equal(t, "limit", d.Limit, "maxJobs")
	equal(t, "max", d.Max, 2)
	refused[none](s.begin("job/run", obj{"command": "true"}), schema.KindLimitExceeded)
	s.kill(a)
	refused[none](s.begin("job/start", obj{"argv": []string{"no-such-program"}}), schema.KindCommandNotFound)
	equal(t, "exit", exitText(s.run("true").Exit), "exited 0")
}

func TestAllowedDirectories(t *testing.T) {
	inside, outside := t.TempDir(), t.TempDir()
	for name, to := range map[string]string{"out": outside, "in": filepath.Join(inside, "sub")} {
		if err := os.Symlink(to, filepath.Join(inside, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(inside, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	s := start(t, "rootDirectory", inside, "allowedDirectories", []string{inside})
	for _, cwd := range []string{".", "sub", "in", "sub/..", inside} {
		equal(t, "run in "+cwd, exitText(s.run("true", "cwd", cwd).Exit), "exited 0")
	}
	for _, cwd := range []string{"out", "..", "sub/../..", "/", outside, inside + "/../" + filepath.Base(outside)} {
		d := refused[schema.DirectoryNotAllowedData](s.begin("job/run", obj{"command": "true", "cwd": cwd}), schema.KindDirectoryNotAllowed)
		if !filepath.IsAbs(d.Path) || !slices.Equal(d.Allowed, []string{inside}) {
			t.Errorf("cwd %s: path %s, allowed %v", cwd, d.Path, d.Allowed)
		}
	}
	do[schema.JobListResult](s, "job/list", nil)
}

// TestSeveralMistakes: many hosts show only the message, so it has one mistake: one with a suggestion if there is any.
func TestSeveralMistakes(t *testing.T) {
	s := start(t)
	for _, test := range []struct {
		method string
		params obj
		want   string
	}{
		{"job/write", obj{"jobId": 1, "input": "x"}, `/jobId: unknown member "jobId"; did you mean "handle"? (data.errors has 1 more)`},
		{"job/run", obj{"cmd": "ls"}, `/cmd: unknown member "cmd"; did you mean "command"? (data.errors has 1 more)`},
		{"job/start", obj{"cols": 0, "rows": 0, "mode": 5}, `/cols: expected 1 to 65535, got 0 (data.errors has 2 more)`},
		{"job/get", obj{}, `member "handle" is missing`},
	} {
		a := s.beginBad(test.method, test.params).answer()
		if a.Error == nil || a.Error.Message != test.want {
			t.Errorf("%s %v: %+v, want %s", test.method, test.params, a.Error, test.want)
		}
	}
}

// TestTildeDirectory: ~ as a directory is refused with the reason that only a shell expands it.
func TestTildeDirectory(t *testing.T) {
	s := start(t)
	for _, cwd := range []string{"~", "~/src"} {
		a := s.begin("job/run", obj{"command": "true", "cwd": cwd}).answer()
		want := "the working directory " + cwd + " cannot be used (no such file or directory); only a shell expands ~: give the path of the home directory"
		if a.Error == nil || a.Error.Message != want {
			t.Errorf("%s: %+v", cwd, a.Error)
		}
	}
}

func TestBadRootDirectory(t *testing.T) {
	s := open(t)
	for _, bad := range []obj{{"rootDirectory": "relative/dir"}, {"allowedDirectories": []string{"/tmp", "rel"}}} {
		d := refused[schema.InvalidParamsData](s.begin("initialize", bad), schema.KindInvalidParams)
		for member := range bad {
			if !strings.HasPrefix(d.Errors[0].Pointer, "/"+member) {
				t.Errorf("pointer %q, want /%s", d.Errors[0].Pointer, member)
			}
		}
	}
	missing := filepath.Join(t.TempDir(), "missing")
	d := refused[schema.BadWorkingDirectoryData](s.begin("initialize", obj{"rootDirectory": missing}), schema.KindBadWorkingDirectory)
	equal(t, "path", d.Path, missing)
	s.initialize()
}
