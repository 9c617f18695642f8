package probe

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// Every probe returns a finding, and one that is not ok has a reason and advice.
func TestSystem(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range System() {
		f := p.Look()
		seen[p.Name] = true
		if f.Found == "" || f.Grade == "" || (f.Grade != OK) != (f.Reason != "" && f.Advice != "") {
			t.Errorf("%s found %+v", p.Name, f)
		}
	}
	for _, must := range []string{"subreaper", "proc", "pidfd", "cgroup", "files", "processes"} {
		if !seen[must] {
			t.Errorf("nobody looks at %s", must)
		}
	}
	if !strings.HasPrefix(Kernel(), "Linux ") {
		t.Errorf("the kernel is %q", Kernel())
	}
}

// TestCgroup probes hierarchies like those of real systems.
func TestCgroup(t *testing.T) {
	for _, c := range []struct {
		name  string
		self  string
		files []string
		grade Grade
		found string
	}{
		{"version 2", "0::/user/shell\n", []string{"user/shell/cgroup.procs", "user/shell/cgroup.kill"}, OK, "groups can be created in ROOT/user/shell"},
		{"version 2 beside version 1", "4:memory:/x\n0::/user\n", []string{"unified/user/cgroup.procs", "unified/user/cgroup.kill"}, OK, "groups can be created in ROOT/unified/user"},
		{"the root, which has no kill", "0::/\n", []string{"cgroup.procs"}, OK, "groups can be created in ROOT"},
		{"version 1 alone", "4:memory:/x\n", []string{"memory/x/cgroup.procs"}, Limited, "no cgroup v2"},
		{"not mounted", "0::/user\n", nil, Limited, "no cgroup v2"},
		{"an old kernel", "0::/user\n", []string{"user/cgroup.procs"}, Limited, "no cgroup.kill in ROOT/user"},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			for _, file := range append(c.files, "self") {
				path := filepath.Join(root, file)
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(c.self), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			f := cgroup(filepath.Join(root, "self"), root)
			if got := strings.ReplaceAll(f.Found, root, "ROOT"); f.Grade != c.grade || got != c.found {
				t.Errorf("it found %s %q (%s), not %s %q", f.Grade, got, f.Reason, c.grade, c.found)
			}
		})
	}
	if f := cgroup("/nowhere", "/"); f.Grade != Limited || f.Found != "not readable" {
		t.Errorf("without a list it found %+v", f)
	}
}

func TestDirectory(t *testing.T) {
	base := t.TempDir()
	file := filepath.Join(base, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		dir    string
		exists bool
		reason string
	}{
		{base, true, ""},
		{filepath.Join(base, "a", "b"), false, ""},
		{file, false, "it is not a directory"},
		{filepath.Join(file, "under"), false, "not a directory"},
		{"/proc/nothing/of/this", false, "nothing can be created in /proc"}, // not even by root
	} {
		f := Directory(c.dir)
		switch {
		case f.Facts["exists"] != c.exists, f.Facts["writable"] != (f.Reason == "" || strings.Contains(f.Reason, "room")):
			t.Errorf("%s: %+v", c.dir, f)
		case c.reason == "" && f.Grade != OK && !strings.Contains(f.Reason, "room"), !strings.Contains(f.Reason, c.reason):
			t.Errorf("%s: %s because of %q, not %q", c.dir, f.Grade, f.Reason, c.reason)
		}
	}
	if left, err := os.ReadDir(base); err != nil || len(left) != 1 {
		t.Errorf("the look has left something behind: %v, %v", left, err)
	}
}

func TestAmount(t *testing.T) {
	if got := amount(unix.RLIM_INFINITY); got != "any number of" || limitFact(unix.RLIM_INFINITY) != nil {
		t.Errorf("no limit is %q", got)
	}
	if got := amount(7); got != "7" || limitFact(7) != uint64(7) {
		t.Errorf("7 is %q", got)
	}
}

func TestHidepid(t *testing.T) {
	const before = "23 28 0:22 / /sys rw - sysfs sysfs rw\n24 28 0:23 / /proc rw,relatime shared:5 - proc proc rw"
	for _, test := range []struct{ mounts, want string }{
		{before + "\n", ""},
		{before + ",hidepid=invisible\n", "invisible"},
		{before + ",gid=4,hidepid=2\n", "2"},
		{before + ",hidepid=off\n", ""},
		{before + ",hidepid=2\n90 24 0:50 / /proc rw - proc proc rw\n", ""},
		{before + "\n90 24 0:50 / /proc rw - proc proc rw,hidepid=ptraceable\n", "ptraceable"},
		{before + "\n90 24 0:50 / /jail/proc rw - proc proc rw,hidepid=2\n", ""},
		{"", ""},
	} {
		if got := hidepid(test.mounts); got != test.want {
			t.Errorf("%q: %q, want %q", test.mounts, got, test.want)
		}
	}
}
