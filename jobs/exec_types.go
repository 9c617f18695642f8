package jobs

import "time"

// An ExecOptions is a command line, or several, for a shell that is a job with shell
// integration.
type ExecOptions struct {
	Command string // any length, any lines; it must not contain NUL
	// Wait adds conditions to the command's own end. Its Timeout is the only deadline, which
	// counts from the request. From is where the command begins, if it does not say.
	Wait *WaitSpec
	// Interrupt sends the interrupt signal to the foreground when the time is over, and waits for
	// what comes of it for at most interruptTime; else the command goes on.
	Interrupt bool
	// Kill kills what is in the foreground if interrupts do not end the command (with Interrupt).
	Kill bool
	// FailBusy refuses the request where the shell runs something already; else it waits.
	FailBusy bool
	Asker    Asker
}

// An ExecResult is what a command has come to.
type ExecResult struct {
	Outcome   Outcome      // of the wait; the reason is "command" with index -1 for the command's own end
	Command   ShellCommand // as far as it is known
	Output    Range        // of the terminal's stream: what it has written by now; Excerpt has the text
	Interrupt bool         // it was interrupted, since its time was over
	Killed    bool         // processes of it were killed, since interrupts did not end it
	Replaced  bool         // it has ended because another program has taken the shell's place
	Hint      *Hint        // why the shell could not run it (status 126 or 127); nil = not known
}

// A CommandFate says what has become of a command whose request was cancelled, or that was
// interrupted before it began.
type CommandFate string

// The fates of commands.
const (
	CommandDropped     CommandFate = "dropped"     // it never runs
	CommandRunning     CommandFate = "running"     // it goes on
	CommandInterrupted CommandFate = "interrupted" // it is interrupted, if need be when it begins
	CommandUnknown     CommandFate = "unknown"     // nobody can tell whether it has run
)

// A ShellCommand is one that a shell with integration runs or has run: by Exec, or typed.
type ShellCommand struct {
	ID        int64 // counted from 1 in its job
	Text      string
	Typed     bool      // it came through Write, not Exec
	ExitCode  *int      // nil: it runs, or has ended with its shell
	Finished  bool      // it has ended, or its shell has
	StartedAt time.Time // zero: it waits for the shell
	EndedAt   time.Time // zero: it runs
	Cwd       string    // of the shell when it had ended; "" before
	Output    Range     // To is 0 where it runs
}

// CommandFinished says that a command of a shell with integration has ended.
type CommandFinished struct{ ShellCommand }
