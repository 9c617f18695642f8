package main

import (
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// TestTortureHidden runs the torture set as a user without privileges where /proc hides processes
// from their own user: the undumpable ones among them are in no list that this user can open.
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
					s := startTortureServer(t, bin, nobody, i+round, hides)
					way.end(t, s)
					s.stop()
				}
			})
		}
	}
}

// hides says whether a program is run where processes are hidden: those that hide themselves, and all with
// -long.
func hides(j torture) bool { return j.hidden || *long && together(j) }

// mountHiding mounts a /proc that hides processes over the one that is there. It is another instance:
// the options of the one that is there are the whole machine's.
func mountHiding(t *testing.T, hidepid string) {
	t.Helper()
	if err := unix.Mount("proc", "/proc", "proc", 0, "hidepid="+hidepid); err != nil {
		t.Fatalf("mount /proc with hidepid=%s: %v", hidepid, err)
	}
}

// TestTortureStarved ends jobs whose server can open nothing any more, and whose keeper was killed.
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
				s := startTortureServer(t, bin, uid, i+round, func(j torture) bool { return j.lonely })
				way.end(t, s)
				s.stop()
			}
		})
	}
}
