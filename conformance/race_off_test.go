//go:build linux && !race

package conformance

const raced = false
