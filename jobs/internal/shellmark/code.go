package shellmark

import (
	"errors"
	"slices"
	"strconv"
	"strings"
)

var (
	// ErrNUL is returned for a command that contains a NUL, which cannot be given to any shell.
	ErrNUL = errors.New("a command cannot contain a NUL character")

	// ErrEmpty is returned for an empty command, because shells do not report the end of one.
	ErrEmpty = errors.New("a command of only white space cannot be run")
)

// Payload returns the bytes to write to the FIFO, for Trigger to run the command. All marks of the command have the
// number seq, which must be greater than those of all earlier payloads.
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
		mode = "p" // It may have several statuses, which are passed on to the next command.
	}
	return s.numbered(mode, seq, command), nil
}

// HiddenPayload returns the bytes to write to the FIFO, for HiddenTrigger to run the code. The shell also reports the
// fate of the command before it, so that empty code serves to query that.
func (s Shell) HiddenPayload(seq int64, code string) ([]byte, error) {
	if strings.IndexByte(code, 0) >= 0 {
		return nil, ErrNUL
	}
	return s.numbered("h", seq, code), nil
}

// numbered returns a payload: its mode, its number and the text. The shell removes the characters around the text. They
// keep read from dropping blanks at its edges, and without the last one bash can tell that the text is incomplete.
func (s Shell) numbered(mode string, seq int64, text string) []byte {
	end := "\x04"
	if s == Fish {
		end = ""
	}
	return []byte(mode + strconv.FormatInt(seq, 10) + "\x00\x04" + text + end + "\x00")
}

// maxNatural limits the length of a line that an editor draws, and that plugins colour.
const maxNatural = 1 << 10

// natural reports whether a command may become the edited line unchanged: it must certainly be read as a complete line,
// with the same meaning. zsh itself checks whether the line is complete. bash cannot, so that only lists and pipelines
// of plain words are allowed. fish never qualifies: it writes more before the output of such a line than after an event
// that could be marked.
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

// short reports whether a command is a single line of printable text, and not too long.
func short(command string) bool {
	return len(command) <= maxNatural && !strings.ContainsFunc(command, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\ufffd' })
}

// reserved are words that may begin a construct of several lines, or that refer to the line itself.
var reserved = map[string]bool{
	"if": true, "then": true, "else": true, "elif": true, "fi": true, "for": true, "while": true,
	"until": true, "do": true, "done": true, "case": true, "esac": true, "select": true,
	"function": true, "coproc": true, "in": true, "time": true,
	"repeat": true, "foreach": true, "nocorrect": true, "begin": true, "switch": true,
	"history": true, "fc": true,
}

// whole reports whether a line contains neither history expansion, comments nor continuations, which only zsh's editor
// interprets, nor an incomplete construct that its parser would not report as incomplete.
func whole(line string) bool {
	if strings.ContainsAny(line, "!#^()`") || strings.Contains(line, "<<") {
		return false
	}
	end := strings.TrimRight(line, " \t")
	if background, is := strings.CutSuffix(end, "&"); is {
		end = strings.TrimRight(background, " \t") // in an eval, the job numbers would begin with %2
	}
	if end == "" || strings.ContainsAny(end[len(end)-1:], "&|\\") {
		return false
	}
	return !slices.ContainsFunc(strings.Fields(line), func(word string) bool { return reserved[word] })
}

// plain reports whether a line consists only of words, closed quotes, variable names, redirections to words, and ; & |
// && || between commands.
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

// first returns the first byte that is not a blank, or a NUL.
func first(s string) byte {
	if s = strings.TrimLeft(s, " \t"); s == "" {
		return 0
	}
	return s[0]
}

// operator returns the length of the operator at the start of s; 0: there is no known one.
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

// plainWord returns the length of the word at the start of s; 0: it contains something that is not plain.
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

// isName reports whether s is a valid name of a variable.
func isName(s string) bool {
	for i := range len(s) {
		if !name(s[i]) || i == 0 && s[i] <= '9' {
			return false
		}
	}
	return s != ""
}

// SetVariable returns hidden code that exports a variable with a value; "": the name is not allowed.
func (s Shell) SetVariable(name, value string) string {
	switch {
	case !isName(name), s == Bash && name == "PS0": // bash 5.2 then reads freed memory
		return ""
	case s == Fish:
		return "set -gx " + name + " " + fishQuote(value)
	case s == Bash:
		return "builtin declare -gx " + name + "=" + quote(value)
	}
	return "builtin export " + name + "=" + quote(value)
}

// UnsetVariable returns hidden code that removes a variable; "": the name is not valid.
func (s Shell) UnsetVariable(name string) string {
	switch {
	case !isName(name):
		return ""
	case s == Fish:
		return "set -e " + name
	}
	return "builtin unset -v " + name
}

// DumpEnvironment returns hidden code that writes the shell's exported variables to a file or FIFO, as NAME=VALUE, each
// followed by a NUL. It runs no program.
func (s Shell) DumpEnvironment(path string) string {
	switch s {
	case Fish:
		return "for __shelld_j in (set --names --export | string join0 | string split0); builtin printf '%s=%s\\0' $__shelld_j \"$$__shelld_j\"; end >" + fishQuote(path)
	case Bash:
		return "__shelld_dump " + quote(path)
	}
	return "__shelld_dump " + quote(path)
}
