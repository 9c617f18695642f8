package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// releaseVersion is the version of the source; the revision is the build's.
const releaseVersion = "0.1.0-dev"

func version([]string) int {
	fmt.Printf("shelld %s (protocol 1, %s, %s/%s)\n", versionString(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return 0
}

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
