package main

import "runtime/debug"

// releaseVersion is that of shelld; a test holds them together.
const releaseVersion = "0.1.0-dev"

// versionString adds what the build knows of its revision.
func versionString() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return releaseVersion
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return releaseVersion + "+" + s.Value[:12]
		}
	}
	return releaseVersion
}
