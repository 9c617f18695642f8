//go:build linux && race

package conformance

// raced: the race detector makes proxy and runner several times slower. What it can see of them it
// has seen after some sessions: whatever the fault is, the same goroutines do the same, and only
// what they are told differs. The server behind the proxy is not built with it. That one meets
// every session in cmd/shelld, where runner and server both are.
const raced = true
