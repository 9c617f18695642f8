package jobs

import (
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"shelld.dev/shelld/jobs/internal/cast"
	"shelld.dev/shelld/jobs/internal/ports"
	"shelld.dev/shelld/jobs/internal/proc"
	"shelld.dev/shelld/jobs/internal/store"
)

// services are what the jobs of a server share, and what they need of it. A Manager embeds them. They know no job.
type services struct {
	log      *slog.Logger
	own      ownFacts
	system   system   // dependencies that tests replace
	settings settings // set by Configure under the registry's mu; immutable from the first Start on
	end      serverEnd

	confirms confirms
	vault    vault
	swept    sync.Once // for the removal of shell files that killed servers have left (shell_feed.go)

	patternBytes atomic.Int64 // the size of all patterns that are searched for
}

// ownFacts are facts about the server, fixed when it starts.
type ownFacts struct {
	environment []string
	began       time.Time
	version     string
}

// settings are the values that Configure sets.
type settings struct {
	root        string // "": it is not known, and noRoot is the reason
	noRoot      error
	allowedDirs []string          // as the client names them
	allowed     []*proc.Directory // the same directories, opened
	limits      Limits
	archive     *archive // nil: output is kept in memory only
	noArchive   string   // why there is no archive, if files were wanted
	secrets     SecretPolicy
	commands    CommandPolicy
	confirm     ConfirmPolicy
}

// system is the set of functions and services that jobs are built on. Tests replace some of them.
type system struct {
	keepers         starter
	platform        PlatformInfo
	plan            func(*Spec) (plan, *Error)
	createRecording func(*store.Folder) (recordingDisk, error)
	askTime         time.Duration // the time limit for a shell to answer a query
	lookPorts       func(w *ports.Watch, p process, leader int) (ports.Found, bool)
	terminals       terminals
}

// A recordingDisk is the file that a recording is written to.
type recordingDisk interface {
	cast.File
	io.Closer
}

// A serverEnd signals the end of the server, and counts the helper programs that the end waits for besides jobs.
type serverEnd struct {
	begun     chan struct{}  // closed by Shutdown, under the registry's mu
	inquiries sync.WaitGroup // the helper programs of the server; none is added once begun is closed
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// Limits bound the resources that jobs may take. Zero values mean the defaults.
type Limits struct {
	MaxJobs         int           // live at the same time; 512
	SpoolMemory     int           // bytes of output in memory per stream; 256 KiB beside a file, 4 MiB without
	SpoolDisk       int64         // bytes of output in a stream's file: the first eighth, and the newest; 64 MiB
	SpoolTotal      int64         // bytes in all files; 2 GiB
	InputQueueBytes int64         // bytes of queued input per job; 1 MiB
	ShutdownGrace   time.Duration // between TERM and KILL when the server ends; DefaultGrace, and none if negative
	KeepJobs        int           // closed jobs that are remembered; 100
	JobTimeout      time.Duration // a job is ended after this time, regardless of its start request; 0: none
}

// DefaultGrace is the time between TERM and KILL if no other is set.
const DefaultGrace = 2 * time.Second

// withDefaults returns the limits in effect. Without files there are no limits on files.
func (l Limits) withDefaults(inFiles bool) Limits {
	set := func(p *int, v int) {
		if *p == 0 {
			*p = v
		}
	}
	set(&l.MaxJobs, 512)
	if inFiles {
		set(&l.SpoolMemory, 256<<10)
	}
	set(&l.SpoolMemory, 4<<20)
	set(&l.KeepJobs, 100)
	if l.SpoolDisk == 0 {
		l.SpoolDisk = 64 << 20
	}
	if l.SpoolTotal == 0 {
		l.SpoolTotal = 2 << 30
	}
	if !inFiles {
		l.SpoolDisk, l.SpoolTotal = 0, 0
	}
	if l.InputQueueBytes == 0 {
		l.InputQueueBytes = 1 << 20
	}
	if l.ShutdownGrace == 0 {
		l.ShutdownGrace = DefaultGrace
	}
	l.ShutdownGrace = max(l.ShutdownGrace, 0)
	return l
}

// Options configure a Manager.
type Options struct {
	Root        string   // the base of relative directories; "" = the process's own
	AllowedDirs []string // a job's cwd must lie in one; none = no restriction
	Env         EnvPolicy
	Login       time.Duration // the time limit for asking the login shell for its environment; 0: it is not asked
	Limits      Limits
	Persist     *Persist // nil: output is kept in memory only
	Secrets     SecretPolicy
	Commands    CommandPolicy
	Confirm     ConfirmPolicy
	Log         *slog.Logger
	Version     string // of this program, for programs that query their terminal

	// WithoutKeepers runs jobs on Linux as on macOS, without keepers. It is for tests of that.
	WithoutKeepers bool
}

// shutdownSlack is the time limit, after the grace, for a job to report that it has ended.
const shutdownSlack = 500 * time.Millisecond
