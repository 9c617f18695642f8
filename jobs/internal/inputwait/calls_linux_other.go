//go:build linux && !amd64 && !arm64

package inputwait

// The system call numbers of these architectures are not listed: the first tier is not used, and this table is never
// read.

const knowsCalls = false

var (
	calls         [0]callName
	restartedPoll callName
)
