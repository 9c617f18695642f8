package jobs

// Platform tells what this machine's system lets a server do.
func Platform() PlatformInfo { return sessionPlatform() }

func platformOf(Options) PlatformInfo { return Platform() }

func newStarter(o Options) starter { return newDirectly(o) }
