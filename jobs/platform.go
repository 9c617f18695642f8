package jobs

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
