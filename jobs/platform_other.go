//go:build !linux && !darwin && !windows

package jobs

// Platform tells what this machine's system lets a server do.
func Platform() PlatformInfo {
	return PlatformInfo{Tree: treeNone, NotReached: []string{"everything: this version runs no jobs on this system"}}
}

func platformOf(Options) PlatformInfo { return Platform() }

func newStarter(o Options) starter { return newKeepers(o) }
