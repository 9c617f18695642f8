//go:build linux && !amd64 && !arm64

package inputwait

// The numbers of system calls are not known here: the first tier is not used, and
// nothing is asked of this table.

const knowsCalls = false

var (
	calls         [0]callName
	restartedPoll callName
)
