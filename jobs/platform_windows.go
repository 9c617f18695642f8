package jobs

// Platform returns the features of this machine's system for a server.
func Platform() PlatformInfo {
	return PlatformInfo{
		Modes:   []Mode{ModePipe},
		Tree:    treeObject,
		Reaches: []string{"children", "grandchildren", "orphans", "the server's own sudden death"},
		NotReached: []string{"processes that the task scheduler or a service starts on a job's behalf",
			"graceful termination: a kill ends all processes at once, whatever its grace"},
	}
}

func platformOf(Options) PlatformInfo { return Platform() }

func newStarter(o Options) starter { return newDirectly(o) }
