//go:build linux || darwin

package jobs

import "shelld.dev/shelld/jobs/internal/proc"

// sessionPlatform describes a Unix on which the server itself is the parent of its jobs' commands: macOS, and Linux if
// Options.WithoutKeepers is set.
func sessionPlatform() PlatformInfo {
	return PlatformInfo{
		Modes: []Mode{ModePTY, ModePipe},
		Tree:  treeSession,
		Reaches: []string{"children", "grandchildren", "other process groups", "orphans in the command's session",
			"other sessions whose first process still has its parent when processes are listed", "stopped processes"},
		NotReached: []string{"daemons that left the session and lost their parent before processes are listed",
			"processes that fork and exit faster than they are listed",
			"setuid programs under an unprivileged server",
			"jobs on pipes when the server is killed; on terminals the kernel sends HUP, and processes that ignore it survive"},
		SurvivesServer:     true,
		CanonicalLineLimit: proc.CanonicalLineLimit,
	}
}
