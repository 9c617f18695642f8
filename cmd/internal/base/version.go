package base

import "runtime/debug"

// Release is the version of the source; the revision comes from the build.
const Release = "0.1.0-dev"

// Version returns Release and, if the build has it, the revision.
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
