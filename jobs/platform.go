package jobs

import (
	"shelld/jobs/internal/keeper"
	"shelld/jobs/internal/shellfiles"
)

// PlatformInfo describes the features of this machine's system for a server.
type PlatformInfo struct {
	Modes              []Mode
	Tree               string   // how a job is contained, as capabilities.treeControl.kind has it
	Reaches            []string // the processes that a kill reaches
	NotReached         []string // the processes that it does not reach
	SurvivesServer     bool     // whether processes of a job can outlive the server
	CanonicalLineLimit int      // bytes of a line before the terminal drops its end; 0 = not known
}

// The ways to find a job's processes.
const (
	treeKeeper  = "keeper"    // the kernel reparents them to a process of ours
	treeObject  = "jobObject" // the kernel keeps them in an object of ours
	treeSession = "session"   // the server searches for them
	treeNone    = "none"      // there are no jobs
)

// Platform returns the features of this machine's system for a manager.
func (m *services) Platform() PlatformInfo { return m.system.platform }

// A starter runs commands and contains the processes that they start. Linux has package keeper for it, macOS and
// Windows have package direct, and other systems have none.
type starter interface {
	Start(keeper.Command) (process, error) // *keeper.StartError, or keeper.ErrClosed
	Warm()
	Close()
}

// ShellIntegration returns the shell families that can have the integration on this system.
func ShellIntegration() []string {
	if !shellfiles.Supported {
		return []string{}
	}
	return []string{"bash", "fish", "zsh"}
}
