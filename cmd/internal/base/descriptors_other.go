//go:build !unix

package base

// ServerDescriptors is how many files a server opens before it can answer that there are too few.
const ServerDescriptors = 0

// EnoughDescriptors returns nil: this system has no limit on open files.
func EnoughDescriptors(int) error { return nil }
