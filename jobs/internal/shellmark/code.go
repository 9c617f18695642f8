package shellmark

import (
	"errors"
	"slices"
	"strconv"
	"strings"
)

var (
	// ErrNUL is told for a command with a NUL, which no shell can be given.
	ErrNUL = errors.New("a command cannot have a NUL in it")

	// ErrEmpty is told for a command that has nothing to run: shells have no end of it to tell.
	ErrEmpty = errors.New("a command of nothing but white space cannot be run")
)

// Payload is what is written to the FIFO for Trigger to run. All marks that speak of it have its
// number, which is greater than those of all payloads before.
func (s Shell) Payload(seq int64, command string) ([]byte, error) {
	if strings.IndexByte(command, 0) >= 0 {
		return nil, ErrNUL
	}
	if strings.Trim(command, " \t\n") == "" {
		return nil, ErrEmpty
	}
	mode := "e"
	switch {
	case s.natural(command):
		mode = "n"
	case s == Fish && strings.Contains(command, "|") && short(command) && plain(command):
		mode = "p" // It may have more than one status, which are told to the next.
	}
	return s.numbered(mode, seq, command), nil
}

// HiddenPayload is what is written to the FIFO for HiddenTrigger to run. The shell tells what has become
// of the command before it, too, so that with empty code it is asked for that alone.
func (s Shell) HiddenPayload(seq int64, code string) ([]byte, error) {
	if strings.IndexByte(code, 0) >= 0 {
		return nil, ErrNUL
	}
	return s.numbered("h", seq, code), nil
}

// numbered is a payload: its mode and its number, and what is to run. The characters around that, which
// the shell takes away, keep read from dropping blanks there; and without the last one bash has not got all.
func (s Shell) numbered(mode string, seq int64, text string) []byte {
	end := "\x04"
	if s == Fish {
		end = ""
	}
	return []byte(mode + strconv.FormatInt(seq, 10) + "\x00\x04" + text + end + "\x00")
}

// maxNatural keeps lines short that an editor draws, and that others colour.
const maxNatural = 1 << 10

// natural says whether a line may become the edited line as it stands: whether it is
// certainly read as a whole, and means the same there. zsh looks for itself whether it is
// complete; bash cannot, so that only lists and pipelines of plain words pass. fish writes
// more before the output of such a line than after an event that could be marked.
func (s Shell) natural(command string) bool {
	if !short(command) {
		return false
	}
	switch s {
	case Bash:
		return plain(command)
	case Zsh:
		return whole(command)
	}
	return false
}

// short says whether a command is one line of printable text that is not long.
func short(command string) bool {
	return len(command) <= maxNatural && !strings.ContainsFunc(command, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\ufffd' })
}

// reserved are words with which something begins that may go on in the next line, or which
// speak of the line itself.
var reserved = map[string]bool{
	"if": true, "then": true, "else": true, "elif": true, "fi": true, "for": true, "while": true,
	"until": true, "do": true, "done": true, "case": true, "esac": true, "select": true,
	"function": true, "coproc": true, "in": true, "time": true,
	"repeat": true, "foreach": true, "nocorrect": true, "begin": true, "switch": true,
	"history": true, "fc": true,
}

// whole says whether a line has nothing that history, comments, or a line that goes on are to
// zsh's editor alone, nor anything of which its parser would not say that it goes on.
func whole(line string) bool {
	if strings.ContainsAny(line, "!#^()`") || strings.Contains(line, "<<") {
		return false
	}
	end := strings.TrimRight(line, " \t")
	if background, is := strings.CutSuffix(end, "&"); is {
		end = strings.TrimRight(background, " \t") // in an eval, jobs would count from %2
	}
	if end == "" || strings.ContainsAny(end[len(end)-1:], "&|\\") {
		return false
	}
	return !slices.ContainsFunc(strings.Fields(line), func(word string) bool { return reserved[word] })
}

// plain says whether a line has nothing but words, quotes that are closed, names of variables,
// redirections to words, and ; & | && || between commands.
func plain(line string) bool {
	wantWord := true // after an operator, and at the beginning
	for i := 0; i < len(line); {
		switch c := line[i]; {
		case c == ' ' || c == '\t':
			i++
		case strings.IndexByte(";&|<>", c) >= 0:
			n := operator(line[i:])
			if n == 0 || wantWord {
				return false
			}
			wantWord, i = c != ';' && line[i:i+n] != "&", i+n
			if !wantWord && strings.IndexByte(";&|<>", first(line[i:])) >= 0 {
				return false
			}
		default:
			n := plainWord(line[i:])
			if n == 0 || reserved[line[i:i+n]] {
				return false
			}
			wantWord, i = false, i+n
		}
	}
	return !wantWord
}

// first returns the first byte that is no blank, or a NUL.
func first(s string) byte {
	if s = strings.TrimLeft(s, " \t"); s == "" {
		return 0
	}
	return s[0]
}

// operator returns how long the operator is with which s begins; 0: it is not a known one.
func operator(s string) int {
	for _, op := range []string{"<<", ";;", "<>", "<(", ">(", ">|", "&>", "|&", "<&"} {
		if strings.HasPrefix(s, op) {
			return 0
		}
	}
	for _, op := range []string{"&&", "||", ">>", ">&", ";", "&", "|", "<", ">"} {
		if strings.HasPrefix(s, op) {
			return len(op)
		}
	}
	return 0
}

// plainWord returns how long the word is with which s begins; 0: it has something
// that is not plain.
func plainWord(s string) int {
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case strings.IndexByte(" \t;&|<>", c) >= 0:
			return i
		case c == '\'' || c == '"':
			n := strings.IndexByte(s[i+1:], c)
			if n < 0 || strings.ContainsAny(s[i+1:i+1+n], "!") || c == '"' && strings.ContainsAny(s[i+1:i+1+n], "`\\$") {
				return 0
			}
			i += n + 2
		case c == '$' && i+1 < len(s) && (name(s[i+1]) || s[i+1] == '?' || s[i+1] == '_'):
			i += 2
		case c >= 0x80 || name(c) || strings.IndexByte("./,:@%+~*?=-", c) >= 0:
			i++
		default:
			return 0
		}
	}
	return len(s)
}

func name(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}

// isName says whether s can be the name of a variable.
func isName(s string) bool {
	for i := range len(s) {
		if !name(s[i]) || i == 0 && s[i] <= '9' {
			return false
		}
	}
	return s != ""
}

// SetVariable is hidden code that exports a variable with a value; "": a shell can have no
// variable of that name.
func (s Shell) SetVariable(name, value string) string {
	switch {
	case !isName(name), s == Bash && name == "PS0": // bash 5.2 then reads what it has freed
		return ""
	case s == Fish:
		return "set -gx " + name + " " + fishQuote(value)
	case s == Bash:
		return "builtin declare -gx " + name + "=" + quote(value)
	}
	return "builtin export " + name + "=" + quote(value)
}

// UnsetVariable is hidden code that removes a variable; "": a shell can have none of
// that name.
func (s Shell) UnsetVariable(name string) string {
	switch {
	case !isName(name):
		return ""
	case s == Fish:
		return "set -e " + name
	}
	return "builtin unset -v " + name
}

// DumpEnvironment is hidden code that writes what the shell exports to a file or FIFO, as
// NAME=VALUE with a NUL behind each. No program is run for it.
func (s Shell) DumpEnvironment(path string) string {
	switch s {
	case Fish:
		return "for __shelld_j in (set --names --export | string join0 | string split0); builtin printf '%s=%s\\0' $__shelld_j \"$$__shelld_j\"; end >" + fishQuote(path)
	case Bash:
		return "__shelld_dump " + quote(path)
	}
	return "__shelld_dump " + quote(path)
}
