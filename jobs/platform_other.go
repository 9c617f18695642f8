//go:build !linux && !darwin && !windows

package jobs

// Platform returns the features of this machine's system for a server.
func Platform() PlatformInfo {
	return PlatformInfo{Tree: treeNone, NotReached: []string{"everything: this version runs no jobs on this system"}}
}

func platformOf(Options) PlatformInfo { return Platform() }

func newStarter(o Options) starter { return newKeepers(o) }
