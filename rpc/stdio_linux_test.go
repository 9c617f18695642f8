package rpc_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"shelld.dev/shelld/schema"
)

// given returns the descriptors of this process that refer to files in a directory, or to a stdin text of a job.
func given(dir string) (all []string) {
	fds, _ := filepath.Glob("/proc/self/fd/*")
	for _, fd := range fds {
		to, err := os.Readlink(fd) // It may be closed by now.
		if err == nil && (strings.HasPrefix(to, dir) || strings.Contains(to, "shelld stdin")) {
			all = append(all, to)
		}
	}
	return all
}

// TestGivenFilesAreTheJobsAlone: once a start is answered, refused or not, the server has none of its files open. The
// job has no descriptors beyond the given ones.
func TestGivenFilesAreTheJobsAlone(t *testing.T) {
	root := t.TempDir()
	// A file that was not closed is closed by the garbage collector, sooner or later.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	s, fifos := start(t, "rootDirectory", root), []fifo{newFifo(t), newFifo(t)}
	makeFile(t, root, "in", "x")
	var handles []int64
	for i, stdin := range []obj{{"text": "x"}, {"file": "in"}} {
		handles = append(handles, s.pipe("ls /proc/self/fd; cat <"+fifos[i].path, "stdin", stdin,
			"stdoutFile", fmt.Sprint("out", i), "stderrFile", fmt.Sprint("err", i)))
	}
	for _, p := range []obj{
		{"argv": []string{"no-such-program"}, "stdin": obj{"text": "x"}, "stdoutFile": "a"},
		{"argv": []string{"true"}, "stdin": obj{"text": "x"}, "stdoutFile": "a", "stderrFile": "nowhere/b"},
		{"argv": []string{"true"}, "stdin": obj{"file": "in"}, "stdoutFile": "nowhere/a"},
	} {
		if a := s.begin("job/run", p).answer(); a.Error == nil {
			t.Errorf("%v is accepted", p)
		}
	}
	if left := given(root); left != nil {
		t.Errorf("the server has open %v", left)
	}
	for i, h := range handles {
		fifos[i].release()
		s.event(h, "job/closed")
		// The fourth is that of the directory that ls reads.
		equal(t, "descriptors", fileText(t, root, fmt.Sprint("out", i)), "0\n1\n2\n3\ngo\n")
	}
}

// TestStartsAndEndsInARush: jobs with texts and files that are cancelled, killed and gone at once leave nothing open,
// and no answer is missing.
func TestStartsAndEndsInARush(t *testing.T) {
	root := t.TempDir()
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // as above
	s := start(t, "rootDirectory", root, "options", obj{"events": []string{}})
	makeFile(t, root, "in", strings.Repeat("x", 10_000))
	text := strings.Repeat("y", 100_000)
	for range 3 {
		var calls []*call
		for i := range inParallel {
			p := obj{"command": []string{"true", "cat", "head -c 5", "exec sleep 60"}[i%4], "shell": "sh", "name": fmt.Sprint("j", i)}
			p["stdin"] = []obj{{"text": text}, {"file": "in"}}[i/4%2]
			p["stdoutFile"], p["stderrFile"] = fmt.Sprint("out", i), fmt.Sprint("out", i)
			c := s.begin("job/run", p)
			if i%4 == 3 {
				s.begin("job/kill", obj{"handle": p["name"], "graceMs": 0})
			}
			if i%4 == 1 {
				c.withdraw()
			}
			calls = append(calls, c)
		}
		for _, c := range calls {
			c.answer()
		}
		for _, j := range do[schema.JobListResult](s, "job/list", obj{"live": true}).Jobs {
			s.await(j.Handle, obj{"closed": true})
		}
	}
	if left := given(root); left != nil {
		t.Errorf("the server has open %v", left)
	}
	equal(t, "what head has let through", fileText(t, root, "out2"), "yyyyy")
}
