package screen

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"
)

// pathBytes is the maximum length of a directory: the system's own limit.
const pathBytes = 4 << 10

// command handles an OSC: a number, a semicolon, and an argument. If the text was cut, only a title is used: the
// beginning of a path is another path. The answer to a query has the same terminator as the query.
func (s *Scanner) command(text []byte, cut bool, end string) {
	number, arg, ok := splitCommand(text)
	if !ok {
		return
	}
	if setsTitle(number) {
		s.told.Title = cleanTitle(arg, s.Clean)
		return
	}
	if cut || hasControl(arg) {
		return
	}
	switch number {
	case 4, 10, 11, 12, 104, 110, 111, 112:
		s.colours(number, arg, end)
	case 7:
		s.fileURL(arg)
	case 9: // ConEmu, Windows Terminal
		if path, ok := strings.CutPrefix(arg, "9;"); ok {
			s.directory(strings.Trim(path, `"`))
		}
	case 633: // VS Code
		if path, ok := strings.CutPrefix(arg, "P;Cwd="); ok {
			path, _, _ = strings.Cut(path, ";")
			s.directory(unescape(path, `\x`))
		}
	case 1337: // iTerm2
		if path, ok := strings.CutPrefix(arg, "CurrentDir="); ok {
			s.directory(path)
		}
	}
}

// splitCommand splits an OSC into number and argument. A missing number is 0. Only commands that reset colours may lack
// the semicolon.
func splitCommand(text []byte) (number int, arg string, ok bool) {
	digits, rest, found := bytes.Cut(text, []byte{';'})
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, "", false
		}
		number = min(10*number+int(c-'0'), maxParam)
	}
	return number, string(rest), found || resetsColours(number)
}

// setsTitle reports whether a command sets the window's title. A title is used even if its end was cut.
func setsTitle(number int) bool { return number == 0 || number == 2 }

// hasControl reports whether there is a control character in an argument: then it is not valid.
func hasControl(arg string) bool {
	return strings.ContainsFunc(arg, func(r rune) bool { return r < 0x20 || r == del })
}

// cleanTitle returns a title as one line of UTF-8, passed through clean if that is set.
func cleanTitle(title string, clean func(string) string) string {
	title = strings.ToValidUTF8(title, string(utf8.RuneError))
	title = cleaned(WithoutControls(title, ""), clean)
	if len(title) > titleBytes {
		end := titleBytes
		for !utf8.RuneStart(title[end]) {
			end--
		}
		title = title[:end]
	}
	return strings.Clone(title) // do not keep the longer string in memory that it may have been cut from
}

func cleaned(text string, clean func(string) string) string {
	if clean == nil {
		return text
	}
	return clean(text)
}

// titles are the pushed titles, at most titleStack.
type titles []string

// take handles CSI 22 t and CSI 23 t as xterm does: editors restore the title that they found. The second parameter
// selects title, icon or both. It returns the title to restore.
func (t *titles) take(op, what int, title string) (back string, ok bool) {
	all := *t
	switch {
	case what != 0 && what != 2:
	case op == 22:
		if len(all) == titleStack {
			all = all[:copy(all, all[1:])]
		}
		*t = append(all, title)
	case op == 23 && len(all) > 0:
		last := len(all) - 1
		*t = all[:last]
		return all[last], true
	}
	return "", false
}

// fileURL takes a directory as file://HOST/PATH if the host is this machine.
func (s *Scanner) fileURL(url string) {
	if url == "" {
		s.told.Directory = ""
		return
	}
	const scheme = "file://"
	if len(url) < len(scheme) || !strings.EqualFold(url[:len(scheme)], scheme) {
		return
	}
	host, path, ok := strings.Cut(url[len(scheme):], "/")
	if ok && s.isLocal(host) {
		s.directory(unescape("/"+path, "%"))
	}
}

// isLocal reports whether a name is this machine's. Some programs leave the domain out.
func (s *Scanner) isLocal(host string) bool {
	short, _, _ := strings.Cut(s.host, ".")
	return host == "" || strings.EqualFold(host, "localhost") || strings.EqualFold(host, s.host) || strings.EqualFold(host, short)
}

// directory takes an absolute path. If it cannot be reported because it is not UTF-8, the directory becomes unknown, so
// that the previous one is not reported any longer.
func (s *Scanner) directory(path string) {
	drive := len(path) > 2 && path[1] == ':' && (path[2] == '\\' || path[2] == '/')
	switch {
	case !strings.HasPrefix(path, "/") && !drive, len(path) > pathBytes, strings.Contains(path, "\x00"):
	case !utf8.ValidString(path):
		s.told.Directory = ""
	default:
		s.told.Directory = cleaned(path, s.Clean)
	}
}

// unescape replaces the prefix and two hexadecimal digits by the byte that they encode. An invalid escape is kept:
// shells that do not escape send such text. With the prefix \x, two backslashes stand for one.
func unescape(s, prefix string) string {
	if !strings.Contains(s, prefix[:1]) {
		return s
	}
	out := make([]byte, 0, len(s))
	for len(s) > 0 {
		n := len(prefix) + 2
		if strings.HasPrefix(s, prefix) && len(s) >= n {
			if c, err := strconv.ParseUint(s[len(prefix):n], 16, 8); err == nil {
				out, s = append(out, byte(c)), s[n:]
				continue
			}
		}
		if prefix[0] == '\\' && strings.HasPrefix(s, `\\`) {
			s = s[1:]
		}
		out, s = append(out, s[0]), s[1:]
	}
	return string(out)
}
