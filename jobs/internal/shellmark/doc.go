// Package shellmark integrates an interactive bash (4.4 and later), zsh (5.0) or fish (3.1): the shell reports its
// state, and runs commands for the caller. Their output, exit status and directory are then known exactly.
//
// A [Launch] describes how to start the shell so that it reads a snippet of ours in addition to the user's own start-up
// files, all of which stay unchanged. The snippet adds hooks that write marks to the terminal: ESC ] 633 ; shelld ;
// NONCE ; … BEL. A [Reader] removes the marks with the right nonce from the output, and leaves everything else
// unchanged, including other marks. The hooks start no process.
//
// The life of one command:
//
//	Ready    the shell reads a line. The caller writes Payload(command) to the pipe
//	         Commands, which it holds open, and types Trigger().
//	Loaded   a key binding has read the FIFO, and has replaced the line that was being edited.
//	Began    the line has been accepted: the command's output begins exactly here.
//	Ended    its output ends exactly here; the mark has $? and $PWD.
//	Ready    the next prompt is drawn.
//
// More comes in place of Ready if an incomplete line was typed: Drop() makes the shell discard it.
//
// A line typed by the user also has Began and Ended, with Seq 0. HiddenTrigger runs code between two commands. It is
// invisible except for the mark [Ran].
//
// A command that the shell certainly reads as one complete line becomes the edited line. For any other, the edited line
// is an eval of a variable, so that an incomplete command is an error, and does not make the shell ask for the rest;
// the hooks print the text of the command, and the Reader removes the echo of the eval. Neither line gets into the
// shell's history, except in bash if HISTIGNORE is read-only.
//
// For a key that runs a function, readline erases the prompt's line and draws the prompt again. If nothing was typed,
// the Reader removes both, since that line may also contain the end of some output.
//
// Dropped comes in place of Began if an interrupt came before.
//
// What is not exact:
//
//   - bash, with several lines or commands that are not plain: $_ of the next command is the whole text, and
//     PIPESTATUS only its status; after "set -e" a status other than 0 ends the shell even if -e ignores it for the
//     last command; break and continue outside a loop print no error.
//   - bash: the output of users' DEBUG traps and of set -v for our own hook comes before Ended. If a command clears
//     PROMPT_COMMAND or PROMPT_EOL_MARK, its own end is reported later, after the output of the code that it set; if
//     it also sets PS1, only in answer to the next HiddenTrigger. After "exec 2>file" or "shopt -u promptvars" typed
//     commands are not reported, only ours.
//   - bash: the output of "set -x" for an eval has an additional +. If PS1 is exported, it contains names of our
//     variables, but not the nonce.
//   - zsh: names of directories with control characters are reported as the prompt shows them, if the hook that
//     reports them exactly was removed.
//   - fish: fish_trace shows the eval; break outside a loop shows its help; $pipestatus is $status after not, after
//     more than four programs, and after a line that is not a plain pipeline; the output of users' handlers of
//     fish_postexec comes before Ended; the output of a typed command includes the text that fish writes before it
//     runs.
//   - A program that replaces the shell (exec), and shells inside it, report nothing. Because of start-up files that
//     do so, Ready may never come.
//
// The nonce is in no environment and no argument, and in a file only until the caller removes that, which is allowed
// after the first Ready. Code that has the nonce can forge marks: a program that reads the memory of the shell, or
// commands that run in the shell itself.
//
// A [Session] follows a shell by these marks: its phase, the command that was handed to it, and which command is
// unconfirmed because an interrupt may have discarded its marks.
//
// The package starts no goroutine and opens no file.
package shellmark
