//go:build linux && race

package conformance

// raced is set with the race detector, which makes proxy and runner several times slower. A few sessions are
// enough for it: with every fault the same goroutines do the same, and only the messages differ. The server
// behind the proxy is not built with it. The tests in cmd/shelld run every session with the detector in both
// runner and server.
const raced = true
