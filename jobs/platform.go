package jobs

import (
	"shelld/jobs/internal/keeper"
)

// PlatformInfo is what this machine's system lets a server do.
type PlatformInfo struct {
	Modes              []Mode
	Tree               string   // how a job is contained, as capabilities.treeControl.kind says it
	Reaches            []string // what a kill reaches
	NotReached         []string // what it does not
	SurvivesServer     bool     // whether something of a job can outlive the server
	CanonicalLineLimit int      // bytes of a line before the terminal drops its end; 0 = not known
}

// How a job's processes are found.
const (
	treeKeeper  = "keeper"    // the kernel gives them to a process of ours
	treeObject  = "jobObject" // the kernel keeps them in an object of ours
	treeSession = "session"   // they are looked for
	treeNone    = "none"      // there are no jobs
)

// Platform tells what this machine's system lets a manager do.
func (m *Manager) Platform() PlatformInfo { return m.system.platform }

// A starter runs commands and contains what they start. Linux has package keeper for it,
// macOS and Windows package direct, and other systems have none.
type starter interface {
	Start(keeper.Command) (process, error) // *keeper.StartError, or keeper.ErrClosed
	Warm()
	Close()
}
