package main

import (
	"slices"
	"strings"
)

// nasties returns the commands of the table, in their order.
func nasties() []nasty {
	return slices.Concat(nastyOutput, nastyWords, nastyDocuments, nastyErrors, nastyState, nastyPlaces, nastyOptions,
		nastyProcesses, nastyFiles2, nastyTerminal, nastyMarks, nastyPrompts, nastyEditors)
}

var (
	allBytes = everyByte()
	line100K = strings.Repeat("0123456789abcdef", 6400)
	lines2K  = strings.Repeat("echo line\n", 2000)
)

// everyByte returns all bytes except NUL, as a terminal outputs them after its line ends were converted back.
func everyByte() string {
	var b []byte
	for i := 1; i < 256; i++ {
		b = append(b, byte(i))
	}
	return string(b)
}

// Output.
var nastyOutput = []nasty{
	{name: "no line end", command: `printf 'no end'`, want: want{out: "no end"}},
	{name: "nothing but a CR", command: `printf '\r'`, want: want{out: "\r"}},
	{name: "a CR within a line", command: `printf 'aaa\rb\n'`, want: want{out: "aaa\rb\n", told: "baa\n"}},
	{name: "CR LF", command: `printf 'a\r\nb\r\n'`, want: want{out: "a\r\nb\r\n", told: "a\nb\n"}},
	{name: "empty lines alone", command: `printf '\n\n\n'`, want: want{out: "\n\n\n"}},
	{name: "spaces at the end", command: `printf 'a   '`, want: want{out: "a   "}},
	{name: "colours", command: `printf '\033[1;31mred\033[m \033[38;2;1;2;3mrgb\033[0m\n'`, want: want{out: "\x1b[1;31mred\x1b[m \x1b[38;2;1;2;3mrgb\x1b[0m\n", told: "red rgb\n"}},
	{name: "a sequence that is not whole", command: `printf 'a\033['`, want: want{out: "a\x1b["}},
	{name: "a command to the terminal without its end", command: `printf 'a\033]0;title'`, want: want{out: "a\x1b]0;title"}},
	{name: "its end", command: `printf '\007b\n'`, want: want{out: "\ab\n"}},
	{name: "nothing but ESC", command: `printf '\033'`, want: want{out: "\x1b"}},
	{name: "a megabyte", command: `head -c 1048576 /dev/zero | tr '\0' x`, want: want{out: strings.Repeat("x", 1<<20)}},
	{name: "a megabyte in lines", command: `yes 0123456 | head -n 131072`, want: want{out: strings.Repeat("0123456\n", 131072)}},
	{name: "NUL bytes", command: `printf 'a\0b\0\0'`, want: want{out: "a\x00b\x00\x00"}},
	{name: "what is no UTF-8", command: `printf '\377\376\303(\200\n'`, want: want{out: "\xff\xfe\xc3(\x80\n"}},
	{name: "half a character at the end", command: `printf 'x\360\237\230'`, want: want{out: "x\xf0\x9f\x98"}},
	{name: "all bytes", command: "for i in $(seq 1 255); do printf \"\\\\$(printf %03o $i)\"; done", want: want{out: allBytes}, in: map[string]want{"fish": {as: "for i in (seq 1 255); printf \\\\(printf '%03o' $i); end", out: allBytes}}},
	{name: "bells", command: `printf '\a\a\a'`, want: want{out: "\a\a\a"}},
	{name: "backspaces", command: `printf 'abc\b\b\bxyz\n'`, want: want{out: "abc\b\b\bxyz\n", told: "xyz\n"}},
	{name: "tabs", command: `printf 'a\tb\t\n'`, want: want{out: "a\tb\t\n"}},
	{name: "form feeds and shifts", command: `printf '\f\v\016\017'`, want: want{out: "\f\v\x0e\x0f"}},
	{name: "wide characters at the edge", command: `printf '%s\n' 日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日`, want: want{out: strings.Repeat("日", 46) + "\n"}},
	{name: "exactly one line of the terminal", command: `printf '%080d' 1`, want: want{out: strings.Repeat("0", 79) + "1"}},
	{name: "one more", command: `printf '%081d\n' 1`, want: want{out: strings.Repeat("0", 80) + "1\n"}},
	{name: "emoji and combined characters", command: `echo '👩‍👩‍👧‍👦 é 🇩🇪 ﷽'`, want: want{out: "👩‍👩‍👧‍👦 é 🇩🇪 ﷽\n"}},
	{name: "from right to left", command: `printf 'שלום\342\200\256abc\n'`, want: want{out: "שלום\u202eabc\n", told: "שלוםabc\n"}},
	{name: "both streams in turn", command: `sh -c 'for i in 1 2 3; do echo o$i; echo e$i >&2; done'`, want: want{out: "o1\ne1\no2\ne2\no3\ne3\n"}},
	{name: "to the terminal itself", command: `sh -c 'echo there >/dev/tty'`, want: want{out: "there\n"}},
	{name: "what looks like a prompt", command: `printf '$ \n%% \n> \n# '`, want: want{out: "$ \n% \n> \n# "}},
	{name: "yes into head", command: `yes | head -n 3`, want: want{out: "y\ny\ny\n"}},
}

// Quotes and characters.
var nastyWords = []nasty{
	{name: "all quotes", command: `echo 'a"b' "c'd" e\'f\"g "h\"i"`, want: want{out: "a\"b c'd e'f\"g h\"i\n"}},
	{name: "exclamation marks", command: `echo !! !x '!y' "!z" !`, want: want{out: "!! !x !y !z !\n"}},
	{name: "carets", command: `echo ^a^b^ '^'`, want: want{out: "^a^b^ ^\n"}},
	{name: "hashes", command: `echo a#b '#c' "#d" # e`, want: want{out: "a#b #c #d\n"}},
	{name: "nothing but a comment", command: `# nothing`},
	{name: "comments in lines", command: "# one\n\n  # two\necho x # three\n# four", want: want{out: "x\n"}},
	{name: "a backslash at the end", command: `echo a\`, want: want{out: "a\n"}},
	{name: "a loop after it", command: "for i in 1 2; do\necho $i\ndone", want: want{out: "1\n2\n"}, in: map[string]want{"fish": {as: "for i in 1 2\necho $i\nend", out: "1\n2\n"}}},
	{name: "a line that goes on", command: "echo a \\\n  b", want: want{out: "a b\n"}},
	{name: "two backslashes at the end", command: `echo a\\`, want: want{out: "a\\\n"}},
	{name: "backslashes", command: `printf '%s\n' 'a\nb' "c\\d" e\\f`, want: want{out: "a\\nb\nc\\d\ne\\f\n"}},
	{name: "percent", command: `printf '%s%%\n' 100; echo %s %% %n`, want: want{out: "100%\n%s %% %n\n"},
		in: map[string]want{"zsh": {as: `printf '%s%%\n' 100; echo %s '%%' %n`, out: "100%\n%s %% %n\n"}}},
	{name: "globs that match nothing", command: `echo none-*-such`, want: want{out: "none-*-such\n"}, in: map[string]want{
		"zsh": {out: "zsh: no matches found: none-*-such\n", exit: 1}, "fish": {out: "fish: No matches for wildcard 'none-*-such'. See `help wildcards-globbing`.\necho none-*-such\n     ^~~~~~~~~~^\n", exit: 124}}},
	{name: "globs that match", command: `cd HOME; echo b*`, want: want{out: "bin\n"}},
	{name: "braces", command: `echo {a,b}{1,2}`, want: want{out: "a1 a2 b1 b2\n"}, in: map[string]want{"fish": {out: "a1 b1 a2 b2\n"}}},
	{name: "tildes", command: `echo ~ '~'`, want: want{out: "HOME ~\n"}},
	{name: "a space that does not break", command: "echo\u00a0a", want: want{out: "bash: echo\u00a0a: command not found\n", exit: 127}, in: map[string]want{
		"zsh": {out: "zsh: command not found: echo\u00a0a\n", exit: 127}, "fish": {out: "fish: Unknown command: echo\u00a0a\nfish: \necho\u00a0a\n^~~~~^\n", exit: 127}}},
	{name: "names in other letters", command: "mkdir ñ日; command ls -d ñ*; rmdir ñ日", want: want{out: "ñ日\n"}},
	{name: "tabs in the command", command: "echo\ta\t'b\tc'", want: want{out: "a b\tc\n"}},
	{name: "control characters in the command", command: "printf %s 'a\x01\x02\x03\x04\x1b[A\x15\x7fz' | od -An -tx1 | tr -d ' \\n'", want: want{out: "61010203041b5b41157f7a"}},
	{name: "the keys that run commands", command: "printf %s '\x1b[5379;1~\x1b[5379;2~\x1b[5379;3~' | wc -c | tr -d ' '", want: want{out: "27\n"}},
	{name: "line ends of DOS", command: "printf '<%s>' a\r\nprintf '<%s>' b\r", want: want{out: "<a\r><b\r>", told: "><b"}, in: map[string]want{"fish": {out: "<a><b>"}}},
	{name: "a CR alone", command: "printf %s 'a\rb' | od -An -tx1 | tr -d ' \\n'", want: want{out: "610d62"}},
	{name: "what is no UTF-8, as an escape", command: `printf %s $'\xff' | od -An -tx1 | tr -d ' \n'`, want: want{out: "ff"}, in: map[string]want{"fish": {as: `printf %s \xff | od -An -tx1 | tr -d ' \n'`, out: "ff"}}},
	{name: "a line of 100 KB", command: "printf %s '" + line100K + "' | wc -c | tr -d ' '", want: want{out: "102400\n"}},
	{name: "a line of 100 KB, as it is", command: "echo " + line100K, want: want{out: line100K + "\n"}},
	{name: "2,000 lines", command: lines2K, want: want{out: strings.Repeat("line\n", 2000)}},
	{name: "white space around it", command: "\n\n \t echo space \t \n\n", want: want{out: "space\n"}},
	{name: "semicolons", command: "echo a; ; echo b", want: want{out: "bash: syntax error near unexpected token `;'\n", exit: 2}, in: map[string]want{"zsh": {out: "a\nb\n"}, "fish": {out: "a\nb\n"}}},
	{name: "a variable of ours", command: `printf '%.0s' "$__shelld_n$__shelld_c"; echo seen`, want: want{out: "seen\n"}},
}

// Here-documents, and strings as input.
var nastyDocuments = []nasty{
	{name: "a here-document", command: "cat <<EOF\na $((1 + 1))\n\tb\nEOF\necho end", want: want{out: "a 2\n\tb\nend\n"}, not: noFish("no here-documents")},
	{name: "a quoted one", command: "cat <<'E O F'\n$HOME `x` !! \\\nE O F", want: want{out: "$HOME `x` !! \\\n"}, not: noFish("no here-documents")},
	{name: "one with tabs", command: "cat <<-EOF\n\t\ta\n\tEOF", want: want{out: "a\n"}, not: noFish("no here-documents")},
	{name: "two at once", command: "cat <<A - /dev/fd/3 3<<B\na\nA\nb\nB", want: want{out: "a\nb\n"}, not: noFish("no here-documents")},
	{name: "nested ones", command: "cat <<A\n$(cat <<B\ninner\nB\n)\nouter\nA", want: want{out: "inner\nouter\n"}, not: noFish("no here-documents")},
	{name: "one that is not closed", whole: execShells, command: "cat <<EOF\nopen", want: want{like: "bash: warning: here-document at line \\d+ delimited by end-of-file \\(wanted `EOF'\\)\nopen\n", vary: numbered}, in: map[string]want{"zsh": {out: "open"}}, not: noFish("no here-documents")},
	{name: "one in a loop in a pipeline", command: "for i in 1 2; do cat <<EOF; done | tr a b\na$i\nEOF", want: want{out: "b1\nb2\n"}, not: noFish("no here-documents")},
	{name: "one of 100 KB", command: "wc -c <<EOF | tr -d ' '\n" + line100K + "\nEOF", want: want{out: "102401\n"}, not: noFish("no here-documents")},
	{name: "a here-string", command: `cat <<<"a  b"`, want: want{out: "a  b\n"}, not: noFish("no here-strings")},
	{name: "read from one", command: `read -r a b <<<'x y z'; echo "$b"`, want: want{out: "y z\n"}, in: map[string]want{"fish": {as: `echo x y z | read a b; echo $b`, out: "y z\n"}}},
	{name: "read from nothing", command: `read a </dev/null`, want: want{exit: 1}},
	{name: "read in a loop", command: `printf '1\n2\n' | while read x; do echo "<$x>"; done`, want: want{out: "<1>\n<2>\n"}, in: map[string]want{"fish": {as: `printf '1\n2\n' | while read x; echo "<$x>"; end`, out: "<1>\n<2>\n"}}},
	{name: "process substitution", command: `cat <(echo a) <(echo b)`, want: want{out: "a\nb\n"}, in: map[string]want{"fish": {as: `cat (echo a | psub) (echo b | psub)`, out: "a\nb\n"}}},
	{name: "output into a process", command: `echo a > >(tr a b >HOME/psub); while [ ! -s HOME/psub ]; do :; done; cat HOME/psub`, want: want{out: "b\n"}, not: noFish("no substitution for output")},
	{name: "substitutions in each other", command: `echo "$(echo "$(echo "in 'a' \"b\"")")"`, want: want{out: "in 'a' \"b\"\n"}, in: map[string]want{"fish": {as: `echo (echo (echo "in 'a' \"b\""))`, out: "in 'a' \"b\"\n"}}},
	{name: "backquotes", command: "echo `echo \\`echo deep\\``", want: want{out: "deep\n"}, not: noFish("no backquotes")},
	{name: "a quoted text of lines", command: "echo 'one\n\n  two'", want: want{out: "one\n\n  two\n"}},
}

func noFish(why string) map[string]string { return map[string]string{"fish": "it has " + why} }

// Errors and incomplete commands.
var nastyErrors = []nasty{
	{name: "a quote that is open", whole: execShells, command: `echo 'a`, want: want{out: "bash: unexpected EOF while looking for matching `''\n", exit: 2}, in: map[string]want{
		"zsh": {out: "zsh: unmatched '\n", exit: 1}, "fish": {out: "fish: Unexpected end of string, quotes are not balanced\necho 'a\n     ^\n\n", exit: 123}}},
	{name: "the next", command: "echo next", want: want{out: "next\n"}},
	{name: "a double quote that is open", whole: execShells, command: "echo \"a\n$HOME", want: want{out: "bash: unexpected EOF while looking for matching `\"'\n", exit: 2}, in: map[string]want{
		"zsh": {out: "zsh: unmatched \"\n", exit: 1}, "fish": {out: "fish: Unexpected end of string, quotes are not balanced\necho \"a\n     ^\n\n", exit: 123}}},
	{name: "a substitution that is open", whole: execShells, command: `echo $(echo a`, want: want{out: "bash: unexpected EOF while looking for matching `)'\n", exit: 1}, in: map[string]want{
		"zsh": {out: "zsh: parse error near `$(echo a'\n", exit: 1}, "fish": {as: "echo (echo a", out: "fish: Unexpected end of string, expecting ')'\necho (echo a\n     ^\n\n", exit: 123}}},
	{name: "an if that is open", whole: execShells, command: "if true; then echo a", want: want{out: "bash: syntax error: unexpected end of file\n", exit: 2}, in: map[string]want{
		"zsh": {out: "zsh: parse error near `a'\n", exit: 1}, "fish": {as: "if true; echo a", out: "fish: Missing end to balance this if statement\nif true; echo a\n^^\n\n", exit: 123}}},
	{name: "a loop that is open", whole: execShells, command: "for i in 1 2; do\necho $i", want: want{out: "bash: syntax error: unexpected end of file\n", exit: 2}, in: map[string]want{
		"zsh": {out: "zsh: parse error near `$i'\n", exit: 1}, "fish": {as: "for i in 1 2\necho $i", out: "fish: Missing end to balance this for loop\nfor i in 1 2\n^~^\n\n", exit: 123}}},
	{name: "a brace that is open", whole: execShells, command: "{ echo a", want: want{out: "bash: syntax error: unexpected end of file\n", exit: 2}, in: map[string]want{
		"zsh": {out: "zsh: parse error near `a'\n", exit: 1}, "fish": {as: "begin; echo a", out: "fish: Missing end to balance this begin\nbegin; echo a\n^~~~^\n\n", exit: 123}}},
	{name: "a pipe to nothing", whole: execShells, command: "echo a |", want: want{out: "bash: syntax error: unexpected end of file\n", exit: 2}, in: map[string]want{
		"zsh": {out: "zsh: parse error near `|'\n", exit: 1}, "fish": {out: "fish: Expected a command, but found end of the input\n\n", exit: 123}}},
	{name: "an and of nothing", whole: execShells, command: "echo a &&", want: want{out: "bash: syntax error: unexpected end of file\n", exit: 2}, in: map[string]want{
		"zsh": {out: "a\n"}, "fish": {out: "fish: Expected a command, but found end of the input\n\n", exit: 123}}},
	{name: "a parenthesis", whole: execShells, command: "echo )", want: want{out: "bash: syntax error near unexpected token `)'\n", exit: 2}, in: map[string]want{
		"zsh": {out: "zsh: parse error near `)'\n", exit: 1}, "fish": {out: "fish: Unexpected ')' for unopened parenthesis\necho )\n     ^\n\n", exit: 123}}},
	{name: "a word out of its place", whole: execShells, command: "echo a\nfi\necho b", want: want{out: "a\nbash: syntax error near unexpected token `fi'\n", exit: 2}, in: map[string]want{
		"zsh": {out: "zsh: parse error near `fi'\n", exit: 1}, "fish": {as: "echo a\nend\necho b", out: "fish: 'end' outside of a block\nend\n^~^\n\n", exit: 123}}},
	{name: "not found", command: "no-such-command-x", want: want{out: "bash: no-such-command-x: command not found\n", exit: 127}, in: map[string]want{
		"zsh": {out: "zsh: command not found: no-such-command-x\n", exit: 127}, "fish": {out: "fish: Unknown command: no-such-command-x\nfish: \nno-such-command-x\n^~~~~~~~~~~~~~~~^\n", exit: 127}}},
	{name: "not found, in a list", command: "no-such-command-x; echo on", want: want{out: "bash: no-such-command-x: command not found\non\n"}, in: map[string]want{
		"zsh": {out: "zsh: command not found: no-such-command-x\non\n"}, "fish": {out: "fish: Unknown command: no-such-command-x\nfish: \nno-such-command-x; echo on\n^~~~~~~~~~~~~~~~^\non\n"}}},
	{name: "not executable", command: "/etc/passwd", want: want{out: "bash: /etc/passwd: Permission denied\n", exit: 126}, in: map[string]want{
		"zsh": {out: "zsh: permission denied: /etc/passwd\n", exit: 126}, "fish": {out: "fish: Unknown command. '/etc/passwd' exists but is not an executable file.\n/etc/passwd\n^~~~~~~~~~^\n", exit: 126}}},
	{name: "a directory", command: "/etc/", want: want{out: "bash: /etc/: Is a directory\n", exit: 126}, in: map[string]want{
		"zsh": {out: "zsh: permission denied: /etc/\n", exit: 126}}, not: map[string]string{"fish": "the name of a directory is cd in it"}},
	{name: "no such file", command: "cat <no-such-file", want: want{out: "bash: no-such-file: No such file or directory\n", exit: 1}, in: map[string]want{
		"zsh": {out: "zsh: no such file or directory: no-such-file\n", exit: 1}, "fish": {out: "warning: An error occurred while redirecting file 'no-such-file'\nwarning: Path 'no-such-file' does not exist\n", exit: 1}}},
	{name: "a bad redirection", command: "echo x >/no/such/dir/file", want: want{out: "bash: /no/such/dir/file: No such file or directory\n", exit: 1}, in: map[string]want{
		"zsh": {out: "zsh: no such file or directory: /no/such/dir/file\n", exit: 1}, "fish": {out: "warning: An error occurred while redirecting file '/no/such/dir/file'\nwarning: Path '/no' does not exist\n", exit: 1}}},
	{name: "division by zero", command: "echo $((1 / 0))", want: want{out: "bash: 1 / 0: division by 0 (error token is \"0\")\n", exit: 1}, in: map[string]want{
		"zsh": {out: "zsh: division by zero\n", exit: 1}, "fish": {as: "math 1 / 0", out: "math: Error: Division by zero\n'1 / 0'\n   ^\n", exit: 1}}},
	{name: "an unset parameter that must be set", command: `echo "${NO_SUCH?must be set}"; echo not reached`, want: want{out: "bash: NO_SUCH: must be set\n", exit: 1}, in: map[string]want{
		"zsh": {out: "zsh: NO_SUCH: must be set\n", exit: 1}}, not: noFish("no such expansion")},
	{name: "return outside a function", command: "return 5", want: want{out: "bash: return: can only `return' from a function or sourced script\n", exit: 2}, in: map[string]want{"zsh": {exit: 5}, "fish": {exit: 5}}},
	{name: "exit in a subshell", command: "(exit 9)", want: want{exit: 9}, in: map[string]want{"fish": {as: "sh -c 'exit 9'", exit: 9}}},
	{name: "a status above 255", command: "sh -c 'exit 300'", want: want{exit: 44}},
	{name: "the status of the one before", command: "echo $?", want: want{out: "44\n"}, in: map[string]want{"fish": {as: "echo $status", out: "44\n"}}},
	{name: "a failing last command", command: "true\nfalse\n", want: want{exit: 1}},
	{name: "a negation", command: "! true", want: want{exit: 1}},
	{name: "lists", command: "false || echo a && false; true && ! false && echo b", want: want{out: "a\nb\n"}},
}

// Lasting state.
var nastyState = []nasty{
	{name: "a variable", command: "x='a  b'", in: map[string]want{"fish": {as: "set x 'a  b'"}}},
	{name: "its value", command: `echo "$x"`, want: want{out: "a  b\n"}},
	{name: "an exported one", command: "export Y=\"$x\nand more\"", in: map[string]want{"fish": {as: "set -gx Y \"$x\"\\n'and more'"}}},
	{name: "in a program", command: `sh -c 'echo "$Y"'`, want: want{out: "a  b\nand more\n"}},
	{name: "removed", command: "unset x Y; echo ${x-none}${Y-none}", want: want{out: "nonenone\n"}, in: map[string]want{"fish": {as: "set -e x; set -e Y; set -q x Y; echo $status", out: "2\n"}}},
	{name: "a function", command: "f() {\n  local v=in\n  echo \"$v $1 $#\"\n  return 4\n}", in: map[string]want{"fish": {as: "function f\n  set -l v in\n  echo $v $argv[1] (count $argv)\n  return 4\nend"}}},
	{name: "called", command: `f 'a b' c`, want: want{out: "in a b 2\n", exit: 4}},
	{name: "a recursion", command: `r() { [ "$1" -eq 0 ] || { printf '%s ' "$1"; r $(($1 - 1)); }; }; r 5`, want: want{out: "5 4 3 2 1 "}, in: map[string]want{"fish": {as: `function r; test $argv[1] -eq 0; or begin; printf '%s ' $argv[1]; r (math $argv[1] - 1); end; end; r 5`, out: "5 4 3 2 1 "}}},
	{name: "an alias", command: "alias say='echo said'"},
	{name: "used", command: "say it", want: want{out: "said it\n"}},
	{name: "an alias over a builtin", command: "alias printf='echo no' eval='echo no' builtin='echo no' test=false", in: map[string]want{"fish": {as: "alias head 'echo no'"}}},
	{name: "in spite of it", command: "(echo ours\n)", want: want{out: "ours\n"}, in: map[string]want{"fish": {as: "begin\necho ours\nend", out: "ours\n"}}},
	{name: "an alias of the first word", command: "alias echo='echo no'; \\echo yes", want: want{out: "yes\n"}, in: map[string]want{"fish": {as: "functions -e head say; builtin echo yes", out: "yes\n"}}},
	{name: "aliases removed", command: "unalias -a", in: map[string]want{"fish": {as: "functions -e say; true"}}},
	{name: "functions over builtins", command: "printf() { :; }; read() { :; }; print() { :; }; history() { :; }; set() { :; }; local() { :; }; trap() { :; }; tty() { :; }", not: map[string]string{"fish": "functions of its own are as well; head is a row of aliases"}},
	{name: "in spite of them", command: "(echo ours\nexit 3)", want: want{out: "ours\n", exit: 3}, in: map[string]want{"fish": {as: "begin\necho ours\nfalse\nend", out: "ours\n", exit: 1}}},
	{name: "functions removed", command: "unset -f printf read print history set local trap tty", not: map[string]string{"fish": "there are none"}},
	{name: "an array", command: "a=('x y' z); echo ${#a[@]}; printf '<%s>' \"${a[@]}\"", want: want{out: "2\n<x y><z>"}, in: map[string]want{"fish": {as: "set a 'x y' z; count $a; printf '<%s>' $a", out: "2\n<x y><z>"}}},
	{name: "an associative one", command: "declare -A m; m[k]='v w'; echo \"${m[k]}\"", want: want{out: "v w\n"}, not: noFish("no associative arrays")},
	{name: "arithmetic", command: "n=5; ((n += 3)); echo $((n ** 2)); ((n > 9))", want: want{out: "64\n", exit: 1}, in: map[string]want{"fish": {as: "set n 5; math $n + 3; test $n -gt 9", out: "8\n", exit: 1}}},
	{name: "loops with break and continue", command: "for i in 1 2 3 4; do [ $i = 2 ] && continue; [ $i = 4 ] && break; echo $i; done; while :; do break; done", want: want{out: "1\n3\n"}, in: map[string]want{"fish": {as: "for i in 1 2 3 4; test $i = 2; and continue; test $i = 4; and break; echo $i; end; while true; break; end", out: "1\n3\n"}}},
	{name: "break outside a loop", whole: []string{"fish"}, command: "break", want: want{out: "bash: break: only meaningful in a `for', `while', or `until' loop\n"}, in: map[string]want{
		"zsh": {out: "break: not in while, until, select, or repeat loop\n", exit: 1}, "fish": {like: "break: Not inside of loop\n\n\nbreak - stop the current inner loop\n.*", vary: "the manual, as the machine formats it", exit: 1}}},
	{name: "case", command: "case 'a b' in\n  a*) echo A ;;\n  *) echo B ;;\nesac", want: want{out: "A\n"}, in: map[string]want{"fish": {as: "switch 'a b'\ncase 'a*'\necho A\ncase '*'\necho B\nend", out: "A\n"}}},
	{name: "a subshell keeps to itself", command: "(cd /; v=1; umask 000; exit 2); echo ${v-none}", want: want{out: "none\n"}, not: noFish("no subshells")},
	{name: "eval", command: `eval 'echo "a' 'b"'; eval "$(printf 'echo c\necho d')"`, want: want{out: "a b\nc\nd\n"}},
	{name: "IFS", command: "IFS=:", not: noFish("no IFS of this kind")},
	{name: "with it", command: `v=a:b; printf '<%s>' $v; unset IFS v`, want: want{out: "<a><b>"}, in: map[string]want{"zsh": {out: "<a:b>"}}, not: noFish("no IFS of this kind")},
	{name: "source", command: ". HOME/sourced; echo $? $SOURCED", want: want{out: "sourced\n7 yes\n"}, in: map[string]want{"fish": {as: "source HOME/sourced.fish; echo $status $SOURCED", out: "sourced\n7 yes\n"}}},
	{name: "source with CR LF", command: ". HOME/crlf", want: want{out: "crlf\r\n", told: "crlf\n"}, in: map[string]want{"fish": {out: "crlf\n"}}},
	{name: "activation", command: ". venv/bin/activate", in: map[string]want{"fish": {as: "source venv/bin/activate.fish"}}},
	{name: "a tool of it", command: "tool; echo ${VIRTUAL_ENV}", want: want{out: "tool of the venv\nHOME/venv\n"}, in: map[string]want{"fish": {as: "tool; echo $VIRTUAL_ENV", out: "tool of the venv\nHOME/venv\n"}}},
	{name: "a failure in it", command: "false", want: want{exit: 1}},
	{name: "its end", command: "deactivate; type tool >/dev/null 2>&1", want: want{exit: 1}},
}
