package main

import (
	"os"
	"regexp"
	"slices"
	"testing"
)

// A torture is a program that is hard to end, one of those in testdata/torture. docs/ending.md describes it under its
// name.
type torture struct {
	mode     string
	terminal bool // needs a terminal
	leaves   bool // the command itself has ended when it is ready
	ends     bool // ends without being killed, because it kills its keeper
	outlives bool // an unprivileged server may not signal it, and reports so
	// alone is the reason why it may outlive a server that is killed.
	alone string
	// lonely is set if it would disturb other jobs; its server then has no others.
	lonely bool
	hidden bool // hides from its own user on a /proc mounted with hidepid
}

// tortures is the torture set.
var tortures = []torture{
	{mode: "plain"},
	{mode: "leader_exits", leaves: true},
	{mode: "groups"},
	{mode: "sessions"},
	{mode: "deep"},
	{mode: "daemons"},
	{mode: "daemon_alone", leaves: true},
	{mode: "deaf"},
	{mode: "handles"},
	{mode: "blocks"},
	{mode: "stopped"},
	{mode: "self_stop"},
	{mode: "threads"},
	{mode: "hop_ms"},
	{mode: "hop_now"},
	{mode: "hop_deaf"},
	{mode: "hop_leader", leaves: true},
	{mode: "respawn"},
	{mode: "bomb"},
	{mode: "living_bomb"},
	{mode: "subreaper"},
	{mode: "clone_parent"},
	{mode: "kill_keeper", ends: true},
	{mode: "kill_keeper_on_term", alone: "it kills the keeper when there is no server that could take over"},
	{mode: "stop_keeper"},
	{mode: "rename_often"},
	{mode: "terminal_holder", terminal: true, leaves: true},
	{mode: "terminal_reader", terminal: true},
	{mode: "pipe_holder", leaves: true},
	{mode: "namespace"},
	{mode: "vforker"},
	{mode: "closes"},
	{mode: "deathsig"},
	{mode: "tracer"},
	{mode: "nohup", terminal: true, leaves: true},
	{mode: "changes_user", outlives: true},
	{mode: "vanish"},
	{mode: "zombie_keeper"},
	{mode: "exec_on_term"},
	{mode: "exec_hopper"},
	{mode: "fork_on_term"},
	{mode: "group_mover"},
	{mode: "spinner"},
	{mode: "keepers_group"},
	{mode: "undumpable", hidden: true},
	{mode: "undumpable_alone", leaves: true, hidden: true},
	{mode: "undumpable_hop", hidden: true},
	{mode: "starve_server", ends: true, lonely: true},
}

// TestTortureDocumented checks that docs/ending.md describes each torture and its result.
func TestTortureDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/ending.md")
	if err != nil {
		t.Fatal(err)
	}
	var told, have []string
	for _, row := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\| [^|]+ \\| [^|]+ \\|$").FindAllSubmatch(page, -1) {
		told = append(told, string(row[1]))
	}
	for _, p := range tortures {
		have = append(have, p.mode)
	}
	if !slices.Equal(told, have) {
		t.Errorf("the page has %q, and the set %q", told, have)
	}
}
