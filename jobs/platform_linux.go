package jobs

import "shelld.dev/shelld/jobs/internal/proc"

// Platform returns the features of this machine's system for a server.
func Platform() PlatformInfo {
	return PlatformInfo{
		Modes: []Mode{ModePTY, ModePipe},
		Tree:  treeKeeper,
		Reaches: []string{"children", "grandchildren", "other process groups", "other sessions",
			"daemonised orphans", "stopped processes", "the server's own sudden death"},
		NotReached: []string{"setuid programs under an unprivileged server",
			"processes left when another process kills the server and a keeper at the same instant"},
		CanonicalLineLimit: proc.CanonicalLineLimit,
	}
}

func platformOf(o Options) PlatformInfo {
	if o.WithoutKeepers {
		return sessionPlatform()
	}
	return Platform()
}

func newStarter(o Options) starter {
	if o.WithoutKeepers {
		return newDirectly(o)
	}
	return newKeepers(o)
}
