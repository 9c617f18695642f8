package jobs

// Platform returns the features of this machine's system for a server.
func Platform() PlatformInfo { return sessionPlatform() }

func platformOf(Options) PlatformInfo { return Platform() }

func newStarter(o Options) starter { return newDirectly(o) }
