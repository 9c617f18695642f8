package store

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"shelld.dev/shelld/internal/safedir"
)

// inNamespace is the environment variable that is set for the test binary that runs in a user namespace of its own.
const inNamespace = "STORE_TEST_IN_NAMESPACE"

// In a rootless sandbox, files of the machine's root appear to belong to nobody, like those of all other unmapped
// users. Of these, only directories that belong to root on every machine can be used. Directories of another user in
// the sandbox cannot be used either.
func TestUserNamespace(t *testing.T) {
	if dir := os.Getenv(inNamespace); dir != "" {
		insideNamespace(t, dir)
		return
	}
	if os.Geteuid() != 0 {
		t.Skip("only root can make a directory of another user's")
	}
	shared := t.TempDir()
	if err := os.Chmod(filepath.Dir(shared), 0o755); err != nil {
		t.Fatal(err)
	}
	home, err := os.MkdirTemp("/home", "store-test")
	if err != nil {
		t.Skip("there is no /home: ", err)
	}
	defer os.RemoveAll(home)
	for path, uid := range map[string]int{
		home: stranger, home + "/other": stranger + 1, home + "/unmapped": stranger + 5, home + "/root": 0, shared + "/ours": stranger,
	} {
		err := os.MkdirAll(path, 0o755)
		if err = errors.Join(err, os.Chmod(path, 0o755), os.Chown(path, uid, uid)); err != nil {
			t.Fatal(err)
		}
	}
	dirs := home + ":" + shared + "/ours"
	runInNamespace(t, dirs, syscall.SysProcIDMap{ContainerID: 1000, HostID: stranger, Size: 2})
	// A container gets this many uids: there, nobody is a real user, and root's files would appear to be that user's.
	runInNamespace(t, "", syscall.SysProcIDMap{ContainerID: 0, HostID: stranger, Size: 65536})
}

// runInNamespace runs the test with dirs as the user 1000 in a user namespace with these uids.
func runInNamespace(t *testing.T, dirs string, users syscall.SysProcIDMap) {
	t.Helper()
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestUserNamespace$", "-test.v")
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), inNamespace+"="+cmp.Or(dirs, "none"))
	maps := []syscall.SysProcIDMap{users}
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

func insideNamespace(t *testing.T, dirs string) {
	info, err := os.Stat("/")
	if err != nil || info.Sys().(*syscall.Stat_t).Uid == 0 {
		t.Fatalf("root has a number here: %v", err)
	}
	refused := func(path, at string) {
		t.Helper()
		err := safedir.Check(path)
		if p, ok := errors.AsType[*fs.PathError](err); !ok || p.Err != safedir.ErrStrangers || p.Path != at {
			t.Errorf("%s: %v, want that %s is another user's", path, err, at)
		}
	}
	if dirs == "none" {
		refused("/home", "/")
		return
	}
	home, shared, _ := strings.Cut(dirs, ":")
	s, err := Open(home+"/state", "session")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"other", "unmapped", "root"} {
		refused(home+"/"+name+"/state", home+"/"+name)
	}
	if err := safedir.Check(shared); err == nil || !safedir.IsUnsafe(err) {
		t.Errorf("below a directory such as /tmp, that may be anybody's: %v", err)
	}
}
