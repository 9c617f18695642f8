//go:build !linux

package rpc_test

// Jobs run only on Linux, and so does the search for their remaining processes.

func childrenLeft() error  { return nil }
func strangersLeft() error { return nil }
