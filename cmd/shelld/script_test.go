package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"shelld.dev/shelld/jobs"
	"shelld.dev/shelld/schema"
)

// TestScripts runs testdata/script. Besides testscript's own commands there are:
//
//	status N program [args...]
//		Run a program, which must exit with status N.
//	frame file1 file2
//		Write each line of file1 to file2 as a message with a header.
//	messages header|line requests
//		Check that the stdout of the last program consists of messages in this framing,
//		each valid by the schema for a server that was sent the lines of the
//		file requests. Write them to the file messages, one a line.
//
// The condition [jobs] holds if this version of shelld can run jobs, [race] if it is built with the race detector,
// [long] with -long.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                filepath.Join("testdata", "script"),
		RequireUniqueNames: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv(raceOptions, os.Getenv(raceOptions))
			env.Setenv("XDG_STATE_HOME", filepath.Join(env.WorkDir, "state"))
			file, err := exec.LookPath("shelld")
			env.Setenv("SHELLD", file) // for scripts that set PATH
			return err
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status": scriptStatus, "frame": scriptFrame, "messages": scriptMessages,
		},
		Condition: func(name string) (bool, error) {
			switch name {
			case "jobs":
				return len(jobs.Platform().Modes) > 0, nil
			case "race":
				return raceDetector, nil
			case "long":
				return *long, nil
			case "ci": // All required programs are installed.
				return os.Getenv("SHELLD_CI") != "", nil
			}
			return false, fmt.Errorf("there is no condition %q", name)
		},
	})
}

func scriptStatus(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N program [args...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("%s: %v", args[1], err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("%s exited with %d, not %d", args[1], got, want)
	}
}

func scriptFrame(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: frame file1 file2")
	}
	var framed strings.Builder
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		body := strings.TrimSuffix(line, "\n")
		fmt.Fprintf(&framed, "Content-Length: %d\r\n\r\n%s", len(body), body)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(framed.String()), 0o600))
}

func scriptMessages(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: messages header|line requests")
	}
	split, ok := map[string]func(string) ([]string, error){"header": splitHeaders, "line": splitLines}[args[0]]
	if !ok {
		ts.Fatalf("messages: the framing is header or line, not %s", args[0])
	}
	messages, err := split(ts.ReadFile("stdout"))
	ts.Check(err)
	methods := map[string]string{} // by ID
	for line := range strings.Lines(ts.ReadFile(args[1])) {
		var r struct {
			ID     json.RawMessage
			Method string
		}
		if json.Unmarshal([]byte(line), &r) == nil { // A line that is not JSON has no ID.
			methods[string(r.ID)] = r.Method
		}
	}
	for _, m := range messages {
		if err := schema.ValidateMessage("server", []byte(m), func(id string) string { return methods[id] }); err != nil {
			ts.Fatalf("%v\nin %s", err, m)
		}
	}
	ts.Check(os.WriteFile(ts.MkAbs("messages"), []byte(strings.Join(messages, "\n")+"\n"), 0o600))
}

func splitLines(out string) ([]string, error) {
	if !strings.HasSuffix(out, "\n") {
		return nil, fmt.Errorf("the last message lacks its line end: %q", out)
	}
	return strings.Split(strings.TrimSuffix(out, "\n"), "\n"), nil
}

var contentLength = regexp.MustCompile(`^Content-Length: (\d+)\r\n\r\n`)

func splitHeaders(out string) ([]string, error) {
	var messages []string
	for out != "" {
		header := contentLength.FindStringSubmatch(out)
		if header == nil {
			return nil, fmt.Errorf("this is not where a message begins: %q", out)
		}
		rest := out[len(header[0]):]
		n, err := strconv.Atoi(header[1])
		if err != nil || n > len(rest) {
			return nil, fmt.Errorf("%s bytes are announced and %d came", header[1], len(rest))
		}
		messages, out = append(messages, rest[:n]), rest[n:]
	}
	return messages, nil
}
