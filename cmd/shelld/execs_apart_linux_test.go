package main

// An apart is a row of the table with a different result in a plain shell, and the reason why that is right. If the
// results no longer differ, TestExecTableAlone fails.
type apart struct {
	row   string
	why   string
	alone map[string]want // the plain shell's result, by shell
	skip  []string        // shells in which it cannot be typed
}

const (
	asText  = "job/exec takes text as a script has it: history is not expanded, and comments are comments"
	asEval  = "the shell runs it as by eval, which is one level deeper, and sees a text where there was a line"
	asHook  = "the hook that tells the status runs under what the user has set, as any in PROMPT_COMMAND does"
	asLines = "the plain shell has no line editor"
	zshJobs = "in zsh, eval in a loop may be a job of its own"
)

// aparts are the known differences.
var aparts = []apart{
	{row: "exclamation marks", why: asText, alone: map[string]want{
		"bash": {out: "bash: !x: event not found\n"},
		"zsh":  {out: "zsh: parse error near `}'\necho { __plain; } !x '!y' \"!z\" !\n", exit: 1}}},
	{row: "hashes", why: asText, alone: map[string]want{"zsh": {out: "a#b #c #d # e\n"}}},
	{row: "nothing but a comment", why: asText, alone: map[string]want{"zsh": {out: "zsh: command not found: #\n", exit: 127}}},
	{row: "comments in lines", why: asText, alone: map[string]want{
		"zsh": {out: "zsh: command not found: #\nzsh: command not found: #\nx # three\nzsh: command not found: #\n", exit: 127}}},
	{row: "history", why: "what is typed is in the history, and a command of job/exec is not", alone: map[string]want{
		"bash": {out: "1\n"}, "fish": {out: "1\n"}}},

	{row: "lines that are traced", why: asEval, alone: map[string]want{
		"bash": {out: "+ echo a\na\n+ echo b\nb\n"},
		"zsh":  {like: `\+zsh:\d+> echo a\na\n\+zsh:\d+> echo b\nb\n`, vary: numbered},
		"fish": {out: "> echo a\na\n> begin\n-> echo b\nb\n> end begin\n"}}},
	{row: "what is traced", why: asEval, alone: map[string]want{"fish": {out: "> echo traced\ntraced\n"}}},
	{row: "set +x", why: asEval, alone: map[string]want{"fish": {out: "> set -e fish_trace\n"}}},
	{row: "what it writes", why: asEval, alone: map[string]want{"zsh": {out: "dbg\nxdbg\ndbg\n", exit: 2}}},
	{row: "PS2 and PS4", why: asEval, alone: map[string]want{"bash": {out: "trace echo t\nt\n"}}},
	{row: "set +v", why: asEval, alone: map[string]want{"bash": {out: "set +v\n"}, "zsh": {out: "set +v\n"}}},
	{row: "a space that does not break", why: asEval, alone: map[string]want{"fish": {out: "fish: Unknown command: echo\u00a0a\n", exit: 127}}},
	{row: "not found", why: asEval, alone: map[string]want{"fish": {out: "fish: Unknown command: no-such-command-x\n", exit: 127}}},
	{row: "not found, in a list", why: asEval, alone: map[string]want{"fish": {out: "fish: Unknown command: no-such-command-x\non\n"}}},
	{row: "not executable", why: asEval, alone: map[string]want{
		"fish": {out: "fish: Unknown command. '/etc/passwd' exists but is not an executable file.\n", exit: 126}}},
	{row: "an if that is open", why: asEval, alone: map[string]want{"fish": {out: "fish: Missing end to balance this if statement\n\n", exit: 123}}},
	{row: "a loop that is open", why: asEval, alone: map[string]want{"fish": {out: "fish: Missing end to balance this for loop\n\n", exit: 123}}},
	{row: "a brace that is open", why: asEval, alone: map[string]want{"fish": {out: "fish: Missing end to balance this begin\n\n", exit: 123}}},

	{row: "set -v", why: asHook, alone: map[string]want{"bash": {}}},
	{row: "a hook that writes", why: asHook, alone: map[string]want{"bash": {}}},
	{row: "an array of hooks", why: asHook, alone: map[string]want{"bash": {}}},

	{row: "the mode of vi", why: asLines, skip: []string{"bash"}},
	{row: "that of emacs", why: asLines, skip: []string{"bash"}},
	{row: "keys that are bound", why: asLines, alone: map[string]want{
		"bash": {out: "bash: bind: warning: line editing not enabled\nbash: bind: warning: line editing not enabled\n"}}},
	{row: "keys that are free", why: asLines, alone: map[string]want{
		"bash": {out: "bash: bind: warning: line editing not enabled\nbash: bind: warning: line editing not enabled\n"}}},
	{row: "no bracketed paste", why: asLines, alone: map[string]want{
		"bash": {out: "bash: bind: warning: line editing not enabled\n"}}},

	{row: "what stays of it", why: asLines + ", and it is with that that zsh takes the terminal back", alone: map[string]want{"zsh": {out: "e\n-echo\n"}}},

	{row: "the background, and wait", why: zshJobs, alone: map[string]want{
		"zsh": {like: `\[1\] \d+\n\[1\]  \+ exit 6     sh -c 'exit 6'\n`, vary: processes, exit: 6}}},
	{row: "a coprocess", why: zshJobs, alone: map[string]want{
		"zsh": {like: `\[1\] \d+\nthrough\n\[1\]  \+ terminated  cat\n`, vary: processes}}},
}
