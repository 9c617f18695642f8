//go:build !linux

package rpc_test

// Jobs run on Linux only, and so does the search for what they leave behind.

func childrenLeft() error  { return nil }
func strangersLeft() error { return nil }
