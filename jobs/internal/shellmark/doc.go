// Package shellmark makes an interactive bash (4.4 and later), zsh (5.0) or fish (3.1) tell
// what it does, and gives it commands to run whose output, exit status and directory
// are then exact.
//
// A [Launch] says how to start the shell, so that it reads a snippet of ours besides the
// user's own start-up files, none of which is touched. The snippet adds hooks that write marks to
// the terminal: ESC ] 633 ; shelld ; NONCE ; … BEL. A [Reader] takes those with the right nonce out
// of the output, and leaves everything else as it is, marks of others among it. The hooks
// start no process.
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
// More comes in place of Ready where somebody has typed a line that is not whole: Drop()
// has the shell forget it.
//
// What is typed by somebody has Began and Ended as well, with Ours false. HiddenTrigger
// has code run between two commands, which is seen by nobody but for the mark [Ran].
//
// A line that a shell certainly reads as a whole and as it stands becomes the edited line. For
// any other, the edited line is an eval of a variable, so that what is incomplete is an
// error and not a question for the rest; the hooks print the command's own text, and the
// Reader takes away the echo of that line. Neither gets into the shell's history, but
// in bash where HISTIGNORE is read-only.
//
// readline erases the prompt's line for a key that runs a function, and draws the prompt again: of that
// the Reader takes away both, where nothing was typed, since the end of some output may stand there.
//
// Dropped comes in place of Began where an interrupt has come before.
//
// What is not exact:
//
//   - bash, several lines or what is not plain: $_ of the next command is the whole text, and PIPESTATUS its
//     status alone; after "set -e" a status that is not 0 ends the shell where the last command was one that -e
//     forgives; break and continue outside a loop say nothing.
//   - bash, what users' traps for DEBUG write, and what set -v does, of our own hook stands
//     before Ended. A command that clears PROMPT_COMMAND or PROMPT_EOL_MARK has its own end told
//     later, behind the output of what it set; one that sets PS1 as well, not at all. After
//     "exec 2>file" or "shopt -u promptvars" nothing is told of what is typed, only of ours.
//   - bash, what "set -x" shows of an eval has one + more. Whoever exports PS1 exports names of
//     variables of ours with it, and no nonce.
//   - zsh: names of directories with control characters come as the prompt shows them, where
//     somebody has taken away the hook that tells them as they are.
//   - fish: fish_trace shows the eval; break outside a loop shows its help; $pipestatus is
//     $status behind not, behind more than four programs, and behind what is no plain pipeline in a line; handlers of fish_postexec that the user's files have write before Ended; what is typed has what fish writes before it runs in its output.
//   - A program that takes the shell's place (exec), and shells within it, tell nothing. Start-up files
//     that do so are the reason for which Ready may never come.
//
// The nonce is in no environment and no argument, and in a file only until the caller
// removes it, as it may once the first Ready has come. Who has it, can lie: a program that
// reads the memory of the shell, or commands that run in the shell itself.
//
// A [Session] follows a shell by these marks: which phase it is in, what is handed to it, and which
// command is in doubt since an interrupt may have taken its marks away.
//
// Nothing here starts a goroutine or opens a file.
package shellmark
