package jobs

import (
	"runtime"

	"shelld/jobs/internal/proc"
)

// PlatformInfo is what this machine's system lets a server do.
type PlatformInfo struct {
	Modes              []Mode
	Keeper             bool     // a keeper process per job, which the kernel tells when nobody is left
	Reaches            []string // what a kill reaches
	NotReached         []string // what it does not
	CanonicalLineLimit int      // bytes of a line before the terminal drops its end; 0 = not known
}

// Platform tells what this machine's system lets a server do.
func Platform() PlatformInfo {
	if runtime.GOOS != "linux" {
		return PlatformInfo{NotReached: []string{"everything: this version runs jobs on Linux only"}}
	}
	return PlatformInfo{
		Modes:  []Mode{ModePTY, ModePipe},
		Keeper: true,
		Reaches: []string{"children", "grandchildren", "other process groups", "other sessions",
			"daemonised orphans", "stopped processes", "the server's own sudden death"},
		NotReached: []string{"setuid programs under an unprivileged server",
			"processes left when the server and a keeper are killed in the same instant by a stranger"},
		CanonicalLineLimit: proc.CanonicalLineLimit,
	}
}
