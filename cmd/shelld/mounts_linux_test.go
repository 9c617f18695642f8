package main

import (
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// These disks belong to one test. They are mounted in a process with a mount namespace of its own: no other process
// sees them, and they are gone with the process, however it ends.

// ownMounts runs the test again in such a process, and reports whether this is that process. If there can be none, the
// test is skipped.
func ownMounts(t *testing.T) bool {
	t.Helper()
	needJobs(t)
	const mine = "SHELLD_TEST_MOUNTS"
	if os.Getenv(mine) == t.Name() {
		return true
	}
	args := []string{"-test.run=^" + t.Name() + "$", "-test.v"}
	flag.Visit(func(f *flag.Flag) {
		if !strings.HasPrefix(f.Name, "test.") || f.Name == "test.short" {
			args = append(args, "-"+f.Name+"="+f.Value.String())
		}
	})
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), mine+"="+t.Name())
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Skipf("there can be no mounts of the test's own: %v", err)
	}
	switch {
	case err != nil:
		t.Errorf("%v\n%s", err, out)
	case strings.Contains(string(out), "--- SKIP: "+t.Name()+" ("):
		t.Skipf("\n%s", out)
	case !strings.Contains(string(out), "--- PASS: "+t.Name()+" ("):
		t.Errorf("it did not run\n%s", out)
	}
	return false
}

// mountDisk mounts a disk of this size in memory, until the end of the test.
func mountDisk(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "mode=0755,size="+size); err != nil {
		t.Skipf("a disk for the test cannot be mounted: %v", err)
	}
	unmountAfter(t, dir)
	return dir
}

func unmountAfter(t *testing.T, dir string) {
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
}

// mountImage makes a file system in a file, and mounts it.
func mountImage(t *testing.T, size int64, options string, mkfs ...string) string {
	t.Helper()
	image, dir := filepath.Join(t.TempDir(), "image"), t.TempDir()
	f, err := os.Create(image)
	if err == nil {
		err = f.Truncate(size)
	}
	if err != nil || f.Close() != nil {
		t.Fatal(err)
	}
	needed(t, append(mkfs, image)...)
	needed(t, "mount", "-o", "loop,"+options, image, dir) // The loop device is removed with the mount.
	unmountAfter(t, dir)
	return dir
}

// needed runs a program of the system, and skips the test if it fails.
func needed(t *testing.T, args ...string) {
	t.Helper()
	if _, err := exec.LookPath(args[0]); err != nil && os.Getenv("SHELLD_CI") != "" {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), args[0], args[1:]...).CombinedOutput(); err != nil {
		t.Skipf("%q: %v %s", args, err, out)
	}
}

// mountQuota mounts a disk with free space and a quota of this many bytes.
func mountQuota(t *testing.T, bytes string) string {
	t.Helper()
	dir := mountImage(t, 256<<20, "rw", "mkfs.btrfs", "-q")
	needed(t, "btrfs", "quota", "enable", dir)
	needed(t, "btrfs", "qgroup", "limit", bytes, "0/5", dir)
	return dir
}

// mountFragile mounts a disk. abort makes it read-only, even for processes that have files on it open.
func mountFragile(t *testing.T) (dir string, abort func()) {
	t.Helper()
	dir = mountImage(t, 64<<20, "errors=remount-ro", "mkfs.ext4", "-q", "-O", "^has_journal")
	return dir, func() {
		t.Helper()
		needed(t, "mount", "-o", "remount,abort", dir)
		if err := os.Mkdir(filepath.Join(dir, "more"), 0o700); !errors.Is(err, unix.EROFS) {
			t.Skipf("the disk that was aborted says %v", err)
		}
	}
}
