package jobs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"shelld.dev/shelld/internal/safedir"
	"shelld.dev/shelld/jobs/internal/inputwait"
	"shelld.dev/shelld/jobs/internal/probe"
	"shelld.dev/shelld/jobs/internal/proc"
	"shelld.dev/shelld/jobs/internal/store"
)

// A Finding is the result of a probe of one thing that a server can use.
type Finding = probe.Finding

// A Grade says how well that thing works.
type Grade = probe.Grade

// The grades.
const (
	GradeOK      = probe.OK
	GradeLimited = probe.Limited
	GradeMissing = probe.Missing
)

// lookTime bounds each probe. No probe takes a hundredth of it on a healthy machine.
const lookTime = 5 * time.Second

// Examine probes this machine, without running a job, and leaves nothing behind.
func Examine() []Finding {
	makePoller()
	looks := []probe.Probe{{Name: "terminals", Look: lookTerminals}}
	looks = append(looks, probe.System()...)
	looks = append(looks,
		probe.Probe{Name: "stateDirectory", Look: lookStateDirectory},
		probe.Probe{Name: "defaultShell", Look: lookDefaultShell},
	)
	var all []Finding
	for _, p := range looks {
		all = append(all, probe.Bounded(p, lookTime))
	}
	return all
}

// ExamineProcess probes how much of a job's process is visible from outside.
func ExamineProcess(pid int) Finding {
	return probe.Bounded(probe.Probe{Name: "inputDetection", Look: func() Finding { return lookInputDetection(pid) }}, lookTime)
}

// lookInputDetection determines how reliably the server can detect that a job with this process waits for input.
func lookInputDetection(pid int) Finding {
	tier, why := inputwait.Examine(pid)
	f := Finding{Grade: GradeLimited, Found: string(tier), Reason: why, Facts: map[string]any{"tier": string(tier)}}
	switch tier {
	case inputwait.Exact:
		f.Grade, f.Found, f.Reason = GradeOK, "exact: "+why, ""
	case inputwait.Likely:
		f.Advice = "let the server read /proc/PID/syscall of its children: sysctl kernel.yama.ptrace_scope=1; until then waits for input are likely at best"
	case inputwait.Guess:
		f.Advice = "waits for input are guesses here; if that is not enough, wait for a prompt by its pattern, or set minConfidence to guess"
	default:
		f.Grade, f.Advice = GradeMissing, "wait for a prompt by its pattern, or for silence"
	}
	return f
}

// Kernel returns the kernel's name and release, or "".
func Kernel() string { return probe.Kernel() }

// fewTerminals is the number of free terminals below which the finding contains advice.
const fewTerminals = 16

// lookTerminals opens a terminal.
func lookTerminals() Finding {
	t, slave, err := proc.OpenTerminal(80, 24)
	if isResource(err) {
		return Finding{Grade: GradeLimited, Found: "no resources for a terminal", Reason: err.Error(),
			Advice: "raise the limit that the reason names: ulimit -n for open files, ulimit -u for processes"}
	}
	if errors.Is(err, errors.ErrUnsupported) {
		return Finding{Grade: GradeMissing, Found: "none on this system", Reason: err.Error(),
			Advice: "nothing can be done: jobs run in pipe mode, and a start in pty mode fails with ptyUnavailable"}
	}
	if err != nil && runtime.GOOS != "linux" {
		return Finding{Grade: GradeMissing, Found: "none can be opened", Reason: err.Error(),
			Advice: "end programs that hold terminals; until then jobs run in pipe mode"}
	}
	if err != nil {
		return Finding{Grade: GradeMissing, Found: "none can be opened", Reason: err.Error(),
			Advice: "mount devpts on /dev/pts with ptmxmode=0666, or raise kernel.pty.max; until then jobs run in pipe mode"}
	}
	name := slave.Name()
	_, _ = slave.Close(), t.Close() // They were not used.
	f := Finding{Grade: GradeOK, Found: "opened " + name}
	used, most, err := proc.Terminals(proc.TerminalCounts)
	if err != nil {
		return f
	}
	left := max(most-used, 0)
	f.Found += fmt.Sprintf("; %d of %d are left", left, most)
	f.Facts = map[string]any{"max": most, "used": used, "left": left}
	if left < fewTerminals {
		f.Grade, f.Reason = GradeLimited, "few terminals are left"
		f.Advice = "end programs that hold them, or raise the limit: sysctl kernel.pty.max=4096"
	}
	return f
}

func lookStateDirectory() Finding {
	dir, err := store.Place()
	if err != nil {
		return Finding{Grade: GradeLimited, Found: "none", Reason: "neither XDG_STATE_HOME nor HOME is an absolute path",
			Advice: "set one of them: otherwise output is kept only in memory"}
	}
	f := probe.Directory(dir)
	if err := safedir.Check(dir); f.Grade == GradeOK && err != nil {
		f.Grade, f.Reason = GradeLimited, err.Error()
		f.Advice = "fix that, or set XDG_STATE_HOME to a directory that only you can change: otherwise output is kept only in memory"
	}
	return f
}

// lookDefaultShell finds the shell that runs commands if they name none, and the reason for the choice.
func lookDefaultShell() Finding {
	env := os.Environ()
	own := os.Getenv("SHELL")
	sh, err := proc.DefaultShell(env)
	if err != nil {
		return Finding{Grade: GradeMissing, Found: "none", Reason: err.Error(),
			Advice: "install bash or sh, or set PATH to where they are; programs can be run without a shell, as argv"}
	}
	why := "it is $SHELL"
	_, ownErr := proc.LookPath(own, "/", env)
	switch {
	case filepath.IsAbs(own) && proc.IsPOSIXShell(own) && ownErr == nil:
	case runtime.GOOS == "windows":
		why = "it is the first installed of pwsh, powershell and cmd"
	case own == "":
		why = "$SHELL is not set, and it is the first installed of bash and sh"
	case !filepath.IsAbs(own), !proc.IsPOSIXShell(own):
		why = fmt.Sprintf("$SHELL is %s, which is not the path of a POSIX shell", own)
	default:
		why = fmt.Sprintf("$SHELL is %s, which cannot be run", own)
	}
	return Finding{Grade: GradeOK, Found: sh.Path + ": " + why, Facts: map[string]any{"path": sh.Path, "why": why}}
}

// wantedShells are the shells that are reported even if they are missing.
var wantedShells = []string{"bash", "zsh", "fish", "dash", "sh", "pwsh"}

// A FoundShell is a shell on PATH.
type FoundShell struct {
	Name, Path string
	Target     string // the file that Path leads to, if that is another one
	Versioned  bool   // it supports --version
}

// FindShells returns the shells on PATH, and the names of those of wantedShells that are missing.
func FindShells() (found []FoundShell, missing []string) {
	installed := proc.FindShells(os.Environ(), "", "")
	for _, name := range wantedShells {
		i := slices.IndexFunc(installed, func(s proc.Installed) bool { return s.Name == name })
		if i < 0 {
			missing = append(missing, name)
			continue
		}
		s := installed[i]
		found = append(found, FoundShell{s.Name, s.Path, s.Target, slices.Equal(s.Ask, []string{"--version"})})
	}
	return found, missing
}
