package main

import (
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// TestTortureHidden runs the torture set as an unprivileged user on a /proc that hides processes from their own user:
// undumpable processes are in no list that this user can read.
func TestTortureHidden(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root can mount /proc with hidepid")
	}
	if !ownMounts(t) {
		return
	}
	bin := buildTorture(t)
	for _, hidepid := range []string{"invisible", "ptraceable"} {
		mountHiding(t, hidepid)
		for i, way := range tortureWays {
			t.Run(fmt.Sprintf("%s, %s", hidepid, way.name), func(t *testing.T) {
				for round := range roundsOfTorture() {
					s := startTortureServer(t, bin, nobody, i+round, hides, way.session)
					way.end(t, s)
					s.stop()
				}
			})
		}
	}
}

// hides reports whether a program is run with hidden processes: those that hide themselves, and with -long all.
func hides(j torture) bool { return j.hidden || *long && together(j) }

// mountHiding mounts a /proc that hides processes over the present one. It is another instance, because the options of
// the present one apply to the whole machine.
func mountHiding(t *testing.T, hidepid string) {
	t.Helper()
	if err := unix.Mount("proc", "/proc", "proc", 0, "hidepid="+hidepid); err != nil {
		t.Fatalf("mount /proc with hidepid=%s: %v", hidepid, err)
	}
}

// TestTortureStarved ends jobs whose server has no free descriptor, and whose keeper was killed.
func TestTortureStarved(t *testing.T) {
	needJobs(t)
	bin := buildTorture(t)
	uid := os.Getuid()
	if uid == 0 {
		uid = nobody
	}
	for i, way := range tortureWays {
		t.Run(way.name, func(t *testing.T) {
			for round := range roundsOfTorture() {
				s := startTortureServer(t, bin, uid, i+round, func(j torture) bool { return j.lonely }, way.session)
				way.end(t, s)
				s.stop()
			}
		})
	}
}
