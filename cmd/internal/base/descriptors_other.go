//go:build !unix

package base

// ServerDescriptors is the number of descriptors that a server opens before it can return an error about a lack of
// them.
const ServerDescriptors = 0

// EnoughDescriptors returns nil: this system has no limit on open files.
func EnoughDescriptors(int) error { return nil }
