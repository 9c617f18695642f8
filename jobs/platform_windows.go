package jobs

// Platform returns the features of this machine's system for a server.
func Platform() PlatformInfo {
	return PlatformInfo{
		Modes:   []Mode{ModePipe},
		Tree:    treeObject,
		Reaches: []string{"children", "grandchildren", "orphans", "the server's own sudden death"},
		NotReached: []string{"what others start on a job's behalf, as the task scheduler and services do",
			"nothing can be asked to end: a kill ends all at once, whatever its grace"},
	}
}

func platformOf(Options) PlatformInfo { return Platform() }

func newStarter(o Options) starter { return newDirectly(o) }
