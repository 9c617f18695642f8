//go:build !linux

package conformance

import "os/exec"

// Only Linux can make a process other than the first one adopt orphans.
func adoptOrphans() error             { return nil }
func startServer(cmd *exec.Cmd) error { return cmd.Start() }
func serverGone(*exec.Cmd)            {}
func killOrphans(string)              {}
func reap(int)                        {}
func homeBegins(string)               {}
func homeEnds(string)                 {}
func adopted(string) []int            { return nil }
