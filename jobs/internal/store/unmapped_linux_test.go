package store

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// inNamespace is set for the test binary that runs in a user namespace of its own.
const inNamespace = "STORE_TEST_IN_NAMESPACE"

// In a sandbox without root what belongs to the machine's root looks like nobody's, and can be
// used as everywhere; what belongs to another user there cannot.
func TestUserNamespace(t *testing.T) {
	if dir := os.Getenv(inNamespace); dir != "" {
		insideNamespace(t, dir)
		return
	}
	if os.Geteuid() != 0 {
		t.Skip("only root can make a directory of another user's")
	}
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"home", "other"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	owners := map[string]int{"home": stranger, "other": stranger + 1}
	for name, uid := range owners {
		if err := os.Chown(filepath.Join(dir, name), uid, uid); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestUserNamespace$", "-test.v")
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), inNamespace+"="+dir)
	maps := []syscall.SysProcIDMap{{ContainerID: 1000, HostID: stranger, Size: 2}}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWUSER, UidMappings: maps, GidMappings: maps,
		Credential: &syscall.Credential{Uid: 1000, Gid: 1000, NoSetGroups: true},
	}
	out, err := cmd.CombinedOutput()
	if err != nil && len(out) == 0 {
		t.Skip("there is no user namespace to be had: ", err)
	}
	if strings.Contains(string(out), "--- SKIP") {
		t.Skipf("%s", out)
	}
	if err != nil || !strings.Contains(string(out), "--- PASS") {
		t.Errorf("%v\n%s", err, out)
	}
}

func insideNamespace(t *testing.T, dir string) {
	info, err := os.Stat("/")
	if err != nil || info.Sys().(*syscall.Stat_t).Uid == 0 {
		t.Fatalf("root has a number here: %v", err)
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skip("the temporary directory is not everybody's: ", err)
	}
	s, err := Open(filepath.Join(dir, "home", "state"), "session")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := Check(filepath.Join(dir, "other", "state")); err == nil || !strings.Contains(err.Error(), string(errStrangers)) {
		t.Errorf("what belongs to another user: %v", err)
	}
}
