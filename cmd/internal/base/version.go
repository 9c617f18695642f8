package base

import "runtime/debug"

// Release is the version of the source; the revision is the build's.
const Release = "0.1.0-dev"

// Version adds what the build knows of its revision.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return Release
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return Release + "+" + s.Value[:12]
		}
	}
	return Release
}
