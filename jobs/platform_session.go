//go:build linux || darwin

package jobs

import "shelld/jobs/internal/proc"

// sessionPlatform describes a Unix on which the server itself is the parent of its jobs' commands: macOS, and Linux if
// Options.WithoutKeepers is set.
func sessionPlatform() PlatformInfo {
	return PlatformInfo{
		Modes: []Mode{ModePTY, ModePipe},
		Tree:  treeSession,
		Reaches: []string{"children", "grandchildren", "other process groups", "orphans in the command's session",
			"other sessions whose first process has its parent when they are looked for", "stopped processes"},
		NotReached: []string{"daemons that have left the session and lost their parent before they were looked for",
			"processes that fork and exit faster than they are listed",
			"setuid programs under an unprivileged server",
			"jobs on pipes when the server is killed; on terminals the kernel hangs up, and what ignores that lives on"},
		SurvivesServer:     true,
		CanonicalLineLimit: proc.CanonicalLineLimit,
	}
}
