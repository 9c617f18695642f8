package rpc_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"shelld.dev/shelld/schema"
)

// TestStdinText: the job reads exactly the text and then the end, whatever its size and content, and inputQueueBytes
// does not apply.
func TestStdinText(t *testing.T) {
	s := start(t, "options", obj{"limits": obj{"inputQueueBytes": 4096}})
	for name, text := range map[string]string{
		"empty": "", "no line end": "a", "lines": "a\nb\n", "NUL and more": "a\x00b\r\n\x1b[1mü€😀\u0004",
		"a pipeful": strings.Repeat("0123456789abcde\n", 4096), "more than a pipeful": strings.Repeat("x", 65536*3+1),
	} {
		h := s.pipe("cat; echo end", "stdin", obj{"text": text})
		equal(t, name, s.output(h, "stdout"), text+"end\n")
		equal(t, name+": exit", s.exit(h), "exited 0")
	}
	equal(t, "run", str(s.run("sort", "stdin", obj{"text": "b\na\n"}).Stdout), "a\nb\n")
}

// TestStdinTextOfAWholeMessage: the text may be as long as a message, and nothing waits for it.
func TestStdinTextOfAWholeMessage(t *testing.T) {
	s := start(t)
	size := 16<<20 - 512
	if testing.Short() {
		size = 2 << 20
	}
	text := strings.Repeat("0123456789abcdef", 1<<20)[:size]
	// The schema check takes the checker longer than the server.
	c := s.beginBad("job/run", obj{"command": "sha256sum", "shell": "sh", "stdin": obj{"text": text}})
	r := result[schema.JobRunResult](c)
	equal(t, "digest", strings.Fields(str(r.Stdout))[0], fmt.Sprintf("%x", sha256.Sum256([]byte(text))))
}

// TestStdinTextIsAFile: several programs share the position, they can seek back, and none can change the file.
func TestStdinTextIsAFile(t *testing.T) {
	s := start(t)
	equal(t, "shared", str(s.run("read a; read b; echo $b $a; cat", "stdin", obj{"text": "1\n2\n3\n"}).Stdout), "2 1\n3\n")
	r := s.run("echo x >&0", "stdin", obj{"text": "1\n"})
	equal(t, "a write to it", r.Exit.Code != nil && *r.Exit.Code != 0, true)
	equal(t, "the file opened anew", str(s.run("(echo x >/dev/stdin) 2>/dev/null; cat", "stdin", obj{"text": "1\n"}).Stdout), "1\n")
}

// TestUnreadStdinText: a program may end before it has read its input.
func TestUnreadStdinText(t *testing.T) {
	s := start(t)
	text := strings.Repeat("line\n", 30_000)
	for range 3 {
		var calls []*call
		for i := range inParallel {
			command := []string{"true", "head -n 1", "exec <&-; echo line", "kill -9 $$"}[i%4]
			calls = append(calls, s.begin("job/run", obj{"command": command, "shell": "sh", "stdin": obj{"text": text}}))
		}
		for i, c := range calls {
			r := result[schema.JobRunResult](c)
			equal(t, "exit", exitText(r.Exit), []string{"exited 0", "exited 0", "exited 0", "signaled SIGKILL"}[i%4])
			equal(t, "stdout", str(r.Stdout), []string{"", "line\n", "line\n", ""}[i%4])
		}
	}
}

// TestNothingIsWrittenToGivenInput: the input of a job was fixed at its start.
func TestNothingIsWrittenToGivenInput(t *testing.T) {
	s, f := start(t), newFifo(t)
	file := makeFile(t, t.TempDir(), "in", "content")
	for _, stdin := range []obj{{"text": "content"}, {"file": file}} {
		h := s.pipe("cat; cat <"+f.path, "stdin", stdin)
		for _, params := range []obj{{"input": "x"}, {"eof": true}} {
			params["handle"] = h
			c := s.begin("job/write", params)
			equal(t, "handle", refused[schema.NotInteractiveData](c, schema.KindNotInteractive).Handle, h)
			if m := c.answer().Error.Message; !strings.Contains(m, `"stdin": "open"`) || strings.Contains(m, "has no standard input") {
				t.Errorf("stdin %v: message %q", stdin, m)
			}
		}
		f.release()
		equal(t, "output", s.output(h, "stdout"), "contentgo\n")
	}
}

func TestStdinFile(t *testing.T) {
	root := t.TempDir()
	makeFile(t, root, "in", "in root\n")
	sub := filepath.Join(root, "sub")
	makeDir(t, sub)
	makeFile(t, sub, "in", "in sub\n")
	makeLink(t, "sub/in", filepath.Join(root, "link"))
	s := start(t, "rootDirectory", root, "allowedDirectories", []string{root})
	for _, c := range []struct{ file, cwd, want string }{
		{"in", ".", "in root\n"}, {"in", "sub", "in sub\n"}, {"../in", "sub", "in root\n"}, {"./sub/../in", ".", "in root\n"},
		{filepath.Join(root, "in"), "sub", "in root\n"}, {"link", ".", "in sub\n"}, {"/dev/null", ".", ""},
	} {
		r := s.run("cat", "cwd", c.cwd, "stdin", obj{"file": c.file})
		equal(t, c.file+" from "+c.cwd, str(r.Stdout), c.want)
	}
	h := s.pipe("cat", "stdin", obj{"file": "in"})
	equal(t, "start", s.output(h, "stdout"), "in root\n")
	large := strings.Repeat("0123456789abcde\n", 1<<16)
	makeFile(t, root, "large", large)
	equal(t, "large", s.output(s.pipe("cat", "stdin", obj{"file": "large"}), "stdout"), large)
}

func TestStdoutFile(t *testing.T) {
	root := t.TempDir()
	s := start(t, "rootDirectory", root)
	const both = "echo a; echo b >&2; echo c; echo d >&2"
	for _, c := range []struct {
		name     string
		params   []any
		out, err string // of the answer
		files    string
	}{
		{"stdout", []any{"stdoutFile", "o"}, "(absent)", "b\nd\n", "o=a c "},
		{"stderr", []any{"stderrFile", "e"}, "a\nc\n", "(absent)", "e=b d "},
		{"two", []any{"stdoutFile", "o", "stderrFile", "e", "stderr", "separate"}, "(absent)", "(absent)", "e=b d o=a c "},
		{"one", []any{"stdoutFile", "x", "stderrFile", "./x"}, "(absent)", "(absent)", "x=a b c d "},
		{"merged", []any{"stdoutFile", "x", "stderr", "merge"}, "(absent)", "(absent)", "x=a b c d "},
		{"discarded", []any{"stdoutFile", "o", "stderr", "discard"}, "(absent)", "(absent)", "o=a c "},
		{"null", []any{"stdoutFile", "/dev/null"}, "(absent)", "b\nd\n", ""},
		{"null twice", []any{"stdoutFile", "/dev/null", "stderrFile", "/dev/null"}, "(absent)", "(absent)", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, method := range []string{"job/run", "job/start"} {
				dir := filepath.Join(root, c.name+strings.TrimPrefix(method, "job/"))
				makeDir(t, dir)
				params := merged(obj{"command": both, "shell": "sh", "mode": "pipe", "cwd": dir}, c.params)
				if method == "job/run" {
					r := do[schema.JobRunResult](s, method, params)
					equal(t, "stdout", str(r.Stdout), c.out)
					equal(t, "stderr", str(r.Stderr), c.err)
					equal(t, "complete", r.OutputComplete, true)
				} else {
					h := do[schema.JobStartResult](s, method, params).Job.Handle
					equal(t, "pushed stdout", s.output(h, "stdout"), strings.TrimPrefix(c.out, "(absent)"))
					equal(t, "pushed stderr", s.output(h, "stderr"), strings.TrimPrefix(c.err, "(absent)"))
					_, out := s.get(h).Streams["stdout"]
					_, err := s.get(h).Streams["stderr"]
					equal(t, "a stream stdout", out, c.out != "(absent)")
					equal(t, "a stream stderr", err, c.err != "(absent)")
				}
				equal(t, "files", dirText(t, dir), c.files)
			}
		})
	}
}

// TestOutputFilesAreAsAShellMakesThem: an existing file is truncated and keeps its mode, symlinks are followed, and two
// names of one file are one file.
func TestOutputFilesAreAsAShellMakesThem(t *testing.T) {
	root := t.TempDir()
	s := start(t, "rootDirectory", root, "allowedDirectories", []string{root})
	makeFile(t, root, "old", "much more than what is written now")
	if err := os.Chmod(filepath.Join(root, "old"), 0o640); err != nil {
		t.Fatal(err)
	}
	makeDir(t, filepath.Join(root, "sub"))
	makeLink(t, "old", filepath.Join(root, "link"))
	makeLink(t, "sub/made", filepath.Join(root, "dangling"))
	makeLink(t, "dangling", filepath.Join(root, "twice"))
	if err := os.Link(filepath.Join(root, "old"), filepath.Join(root, "hard")); err != nil {
		t.Fatal(err)
	}
	s.run("echo new", "stdoutFile", "link")
	equal(t, "what was there", fileText(t, root, "old"), "new\n")
	fi, err := os.Stat(filepath.Join(root, "old"))
	if err != nil || fi.Mode().Perm() != 0o640 {
		t.Errorf("mode %v, error %v; want it as it was", fi.Mode(), err)
	}
	s.run("echo out; echo err >&2; echo out", "stdoutFile", "old", "stderrFile", "hard")
	equal(t, "two names of one file", fileText(t, root, "old"), "out\nerr\nout\n")
	s.run("echo made", "stdoutFile", "twice")
	equal(t, "through a symlink that led nowhere", fileText(t, root, "sub/made"), "made\n")
	s.run("echo again", "stdoutFile", "../dangling", "cwd", "sub")
	equal(t, "and once more", fileText(t, root, "sub/made"), "again\n")
	want := s.run("umask; : >shell; stat -c %a shell")
	s.run("true", "stdoutFile", "fresh")
	fi, err = os.Stat(filepath.Join(root, "fresh"))
	if lines := strings.Fields(str(want.Stdout)); err != nil || fmt.Sprintf("%o", fi.Mode().Perm()) != lines[1] {
		t.Errorf("a new file has mode %v; a shell's has %s (umask %s)", fi.Mode(), lines[1], lines[0])
	}
}

// TestRefusedStartsEmptyNothing: no refused start truncates a file, whatever the reason.
func TestRefusedStartsEmptyNothing(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	s := start(t, "rootDirectory", root, "allowedDirectories", []string{root})
	makeFile(t, root, "keep", "kept")
	stray := makeFile(t, outside, "stray", "kept")
	makeLink(t, stray, filepath.Join(root, "out"))
	for _, p := range []obj{
		{"stdoutFile": "out"}, {"stdoutFile": stray}, {"stdoutFile": "keep", "stderrFile": "out"},
		{"stdoutFile": "keep", "stderrFile": "nowhere/x"}, {"stdoutFile": "keep", "stderrFile": "."},
		{"stdoutFile": "keep", "stdin": obj{"file": "nothing"}}, {"stdoutFile": "keep", "stdin": obj{"file": "out"}},
		{"stdoutFile": "keep", "argv": []string{"no-such-program"}}, {"stdoutFile": "keep", "cwd": "nowhere"},
		{"stdoutFile": "../" + filepath.Base(root) + "/keep", "stderr": "merge", "stderrFile": "keep"},
	} {
		if p["argv"] == nil {
			p["argv"] = []string{"echo", "lost"}
		}
		if a := s.begin("job/run", p).answer(); a.Error == nil {
			t.Errorf("%v is accepted: %s", p, a.Result)
		}
	}
	equal(t, "inside", dirText(t, root), "keep=kept out=kept ")
	equal(t, "outside", dirText(t, outside), "stray=kept ")
}

// TestFileRefusals: each error names the file, and none blocks.
func TestFileRefusals(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	f := newFifo(t)
	makeFile(t, root, "plain", "x")
	stray := makeFile(t, outside, "stray", "x")
	makeDir(t, filepath.Join(root, "dir"))
	makeLink(t, stray, filepath.Join(root, "out"))
	makeLink(t, filepath.Join(outside, "new"), filepath.Join(root, "nowhere"))
	makeLink(t, outside, filepath.Join(root, "outdir"))
	makeLink(t, "loop", filepath.Join(root, "loop"))
	if err := os.Rename(f.path, filepath.Join(root, "fifo")); err != nil {
		t.Fatal(err)
	}
	s := start(t, "rootDirectory", root, "allowedDirectories", []string{root})
	for _, c := range []struct {
		file          string
		input, output schema.Kind
		says          string
	}{
		{"missing", schema.KindInvalidParams, "", "no such file"},
		{"missing/x", schema.KindInvalidParams, schema.KindOutputFileError, "no such file"},
		{"plain/x", schema.KindInvalidParams, schema.KindOutputFileError, "not a directory"},
		{"plain/", schema.KindInvalidParams, schema.KindOutputFileError, "not a directory"},
		{"new/", schema.KindInvalidParams, schema.KindOutputFileError, "director"},
		{"dir", schema.KindInvalidParams, schema.KindOutputFileError, "is a directory"},
		{"fifo", schema.KindInvalidParams, schema.KindOutputFileError, "not a regular file"},
		{"loop", schema.KindInvalidParams, schema.KindOutputFileError, "symbolic links"},
		{strings.Repeat("x", 300), schema.KindInvalidParams, schema.KindOutputFileError, "too long"},
		{"/dev/zero", schema.KindDirectoryNotAllowed, schema.KindDirectoryNotAllowed, "/dev/zero"},
		{"out", schema.KindDirectoryNotAllowed, schema.KindDirectoryNotAllowed, stray},
		{stray, schema.KindDirectoryNotAllowed, schema.KindDirectoryNotAllowed, stray},
		{"outdir/stray", schema.KindDirectoryNotAllowed, schema.KindDirectoryNotAllowed, stray},
		{"outdir/new", schema.KindInvalidParams, schema.KindDirectoryNotAllowed, "new"},
		{"nowhere", schema.KindInvalidParams, schema.KindDirectoryNotAllowed, "n"},
		{"../" + filepath.Base(outside) + "/stray", schema.KindDirectoryNotAllowed, schema.KindDirectoryNotAllowed, stray},
	} {
		for _, p := range []struct {
			params obj
			kind   schema.Kind
		}{
			{obj{"stdin": obj{"file": c.file}}, c.input}, {obj{"stdoutFile": c.file}, c.output}, {obj{"stderrFile": c.file}, c.output},
		} {
			if p.kind == "" {
				continue
			}
			p.params["argv"] = []string{"true"}
			call := s.begin("job/run", p.params)
			data := refused[struct {
				Path   string
				Errors []schema.FieldError
			}](call, p.kind)
			if m := call.answer().Error.Message; !strings.Contains(m, c.says) {
				t.Errorf("%v: %s: message %q does not say %q", p.params, p.kind, m, c.says)
			}
			if p.kind == schema.KindInvalidParams {
				equal(t, "pointer", data.Errors[0].Pointer, "/stdin/file")
			} else if !filepath.IsAbs(data.Path) {
				t.Errorf("%v: path %q", p.params, data.Path)
			}
		}
	}
	equal(t, "outside", dirText(t, outside), "stray=x ")
}

// TestFilesOfTheServer: a job cannot open the files that such names mean in the server.
func TestFilesOfTheServer(t *testing.T) {
	s := start(t)
	for _, file := range []string{"/proc/self/environ", "/proc/thread-self/maps", fmt.Sprintf("/proc/%d/environ", os.Getpid())} {
		d := refused[schema.InvalidParamsData](s.begin("job/run", obj{"argv": []string{"cat"}, "stdin": obj{"file": file}}), schema.KindInvalidParams)
		equal(t, "pointer", d.Errors[0].Pointer, "/stdin/file")
	}
	refused[none](s.begin("job/run", obj{"argv": []string{"true"}, "stdoutFile": "/proc/self/comm"}), schema.KindOutputFileError)
	if out := str(s.run("cat", "stdin", obj{"file": "/proc/filesystems"}).Stdout); !strings.Contains(out, "proc") {
		t.Errorf("/proc/filesystems: %q", out)
	}
}

// TestUnreadableFile: a file exists and may not be read.
func TestUnreadableFile(t *testing.T) {
	file := unreadable(t)
	s := start(t)
	d := refused[schema.PermissionDeniedData](s.begin("job/run", obj{"argv": []string{"true"}, "stdin": obj{"file": file}}), schema.KindPermissionDenied)
	equal(t, "path", d.Path, file)
}

// unreadable returns a file that this process may not read, under any user.
func unreadable(t *testing.T) string {
	t.Helper()
	if os.Geteuid() != 0 {
		file := makeFile(t, t.TempDir(), "secret", "x")
		if err := os.Chmod(file, 0); err != nil {
			t.Fatal(err)
		}
		return file
	}
	files, _ := filepath.Glob("/sys/bus/*/drivers_probe") // not readable by any user
	for _, file := range files {
		if _, err := os.ReadFile(file); os.IsPermission(err) {
			return file
		}
	}
	t.Skip("root may read every file here")
	return ""
}

// TestCommandLineTooLong: the params are invalid, and the error suggests a solution.
func TestCommandLineTooLong(t *testing.T) {
	s := start(t)
	long := strings.Repeat("x", 300_000)
	for pointer, p := range map[string]obj{"/command": {"command": "true #" + long}, "/argv": {"argv": []string{"true", long}}} {
		c := s.begin("job/run", p)
		d := refused[schema.InvalidParamsData](c, schema.KindInvalidParams)
		equal(t, "pointer", d.Errors[0].Pointer, pointer)
		if m := c.answer().Error.Message; !strings.Contains(m, "stdin") || len(m) > 1000 {
			t.Errorf("message %.1000q", m)
		}
	}
	equal(t, "the way", str(s.run("wc -c", "stdin", obj{"text": long}).Stdout), "300000\n")
}

func makeFile(t *testing.T, dir, name, content string) string {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

func makeDir(t *testing.T, dir string) {
	t.Helper()
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
}

func makeLink(t *testing.T, to, name string) {
	t.Helper()
	if err := os.Symlink(to, name); err != nil {
		t.Fatal(err)
	}
}

// dirText returns the contents of a directory's files, on one line.
func dirText(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, e := range entries {
		fmt.Fprintf(&b, "%s=%s ", e.Name(), strings.Join(strings.Fields(fileText(t, dir, e.Name())), " "))
	}
	return b.String()
}
