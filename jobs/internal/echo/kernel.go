package echo

import "shelld.dev/shelld/jobs/internal/proc"

// A kernelOutput is the echo that Linux' line discipline (n_tty) makes of bytes that are typed into a
// terminal.
type kernelOutput struct {
	// lines are the bytes shown, cut behind each line end: only there can output of the program
	// come in between.
	lines [][]byte

	// flushed: an interrupt character discarded the echo queued before it, which may or may not
	// have been shown. The lines begin with that character.
	flushed bool

	// exact is false if the echo depends on something that is not known here, such as the
	// cursor's column or the text that was typed on the line before.
	exact bool
}

// A lineDiscipline computes one kernelOutput. Its methods follow n_tty.c.
type lineDiscipline struct {
	proc.Attrs
	echo    kernelOutput
	shown   []byte // the echo since the last line end
	line    []byte // the characters typed on the current line, in canonical mode
	begun   bool   // unknown characters stand before line
	literal bool   // the next character stands for itself
}

// kernelShows returns the echo that the kernel makes of data. begun: a part of a line was typed
// before it.
func kernelShows(data []byte, a proc.Attrs, begun bool) kernelOutput {
	k := lineDiscipline{Attrs: a, begun: begun}
	k.echo.exact = !a.Shown.Odd
	for _, c := range data {
		if !k.echo.exact {
			break
		}
		k.typed(c)
	}
	k.cut()
	return k.echo
}

func (k *lineDiscipline) cut() {
	if len(k.shown) > 0 {
		k.echo.lines = append(k.echo.lines, k.shown)
		k.shown = nil
	}
}

func (k *lineDiscipline) typed(c byte) {
	switch {
	case k.literal:
		k.literal = false
		k.plain(c)
	case k.Shown.Flow && c != 0 && (c == k.Shown.Start || c == k.Shown.Stop):
		// The kernel acts on it and does not show it.
	case k.Signals && c != 0 && (c == k.Intr || c == k.Quit || c == k.Susp):
		k.signal(c)
	case c == '\r' && k.Shown.IgnoreCR:
	case c == '\r' && k.CRToNL:
		k.special('\n')
	case c == '\n' && k.Shown.NLToCR:
		k.special('\r')
	case c == '\n' && k.Canonical:
		k.special(c)
	default:
		if !k.edit(c) {
			k.plain(c)
		}
	}
}

// special takes a line end that a mode has translated, or that ends a line.
func (k *lineDiscipline) special(c byte) {
	switch {
	case k.Canonical && c == '\n':
		if k.Echo || k.Shown.Newline {
			k.put('\n')
		}
		k.endLine()
	case k.edit(c):
	case c == '\n':
		if k.Echo {
			k.put('\n')
		}
	default:
		k.plain(c)
	}
}

// plain takes a character without a special meaning.
func (k *lineDiscipline) plain(c byte) {
	k.show(c)
	if k.Canonical {
		k.line = append(k.line, c)
	}
}

// signal takes an interrupt character.
func (k *lineDiscipline) signal(c byte) {
	if !k.Shown.KeepOld {
		k.echo.flushed = k.echo.flushed || len(k.echo.lines)+len(k.shown) > 0
		k.echo.lines, k.shown = nil, nil
		k.endLine()
	}
	k.show(c)
}

func (k *lineDiscipline) endLine() { k.line, k.begun = k.line[:0], false }

// edit takes c if it is a character of line editing, and reports whether it is.
func (k *lineDiscipline) edit(c byte) bool {
	extended := func(char byte) bool { return k.Shown.Extended && c == char }
	switch {
	case !k.Canonical || c == 0:
		return false
	case c == k.Erase, c == k.Kill, extended(k.Shown.WordErase):
		k.eraser(c)
	case extended(k.Shown.Literal):
		k.literal = true
		if k.Echo && k.Shown.Caret {
			k.put('^')
			k.put('\b')
		}
	case extended(k.Shown.Reprint) && k.Echo:
		k.reprint(c)
	case c == k.EOF:
		k.endLine()
	case c == k.EOL, extended(k.Shown.EOL2):
		k.show(c)
		k.endLine()
	default:
		return false
	}
	return true
}

func (k *lineDiscipline) reprint(c byte) {
	if k.begun {
		k.echo.exact = false
		return
	}
	k.show(c)
	k.put('\n')
	for _, old := range k.line {
		k.show(old)
	}
}

// eraser erases characters at the end of the line. Which it erases of the characters typed before
// data is not known.
func (k *lineDiscipline) eraser(c byte) {
	switch {
	case len(k.line) == 0:
		k.echo.exact = !k.begun
	case c == k.Erase:
		k.wipe(true)
	case c == k.Shown.WordErase:
		k.wipeWord()
	case k.Echo && !(k.Shown.KillLine && k.Shown.KillErases && k.Shown.EraseBack):
		k.endLine()
		k.show(c)
		if k.Shown.KillLine {
			k.put('\n')
		}
	case k.Echo && k.begun:
		k.echo.exact = false
	case !k.Echo:
		k.endLine()
	default:
		for len(k.line) > 0 && k.echo.exact && k.wipe(false) {
		}
	}
}

// wipeWord erases the last word and the characters behind it.
func (k *lineDiscipline) wipeWord() {
	for inWord := false; len(k.line) > 0; {
		first := k.line[k.lastChar()]
		switch {
		case k.continues(first): // wipe handles it
		case isWord(first):
			inWord = true
		case inWord:
			return
		}
		if !k.echo.exact || !k.wipe(false) {
			return
		}
	}
	k.echo.exact = k.echo.exact && !k.begun
}

// isWord reports whether c is an underscore or alphanumeric for the kernel, in Latin-1.
func isWord(c byte) bool {
	switch {
	case c >= '0' && c <= '9', c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '_':
		return true
	}
	return c >= 0xc0 && c != 0xd7 && c != 0xf7
}

// lastChar returns the index of the last character of the line, which must not be empty.
func (k *lineDiscipline) lastChar() int {
	i := len(k.line) - 1
	for i > 0 && k.continues(k.line[i]) {
		i--
	}
	return i
}

func (k *lineDiscipline) continues(c byte) bool { return k.Shown.UTF8 && c&0xc0 == 0x80 }

// wipe erases one character, and reports whether it could. single: Erase was typed, which need not
// remove the character from the screen.
func (k *lineDiscipline) wipe(single bool) bool {
	i := k.lastChar()
	c := k.line[i]
	if k.continues(c) { // the first byte of the character is missing
		k.echo.exact = !k.begun
		return false
	}
	k.line = k.line[:i]
	switch {
	case !k.Echo:
	case single && !k.Shown.EraseBack:
		k.show(k.Erase)
	case c == '\t':
		k.echo.exact = false // its width depends on the column
	default:
		for range k.width(c) {
			k.shown = append(k.shown, "\b \b"...)
		}
	}
	return true
}

// width returns how many columns the echo of c takes.
func (k *lineDiscipline) width(c byte) int {
	switch {
	case !isControl(c):
		return 1
	case k.Shown.Caret:
		return 2
	}
	return 0
}

func isControl(c byte) bool { return c < ' ' || c == 0x7f }

// show shows a character as the echo has it.
func (k *lineDiscipline) show(c byte) {
	switch {
	case !k.Echo:
	case k.Shown.Caret && isControl(c) && c != '\t':
		k.shown = append(k.shown, '^', c^0x40)
	default:
		k.put(c)
	}
}

// put adds a byte to the echo, as output processing translates it.
func (k *lineDiscipline) put(c byte) {
	post := k.Shown.Process
	switch {
	case post && c == '\n' && k.Shown.NLToCRNL:
		k.shown = append(k.shown, '\r', '\n')
	case post && c == '\r' && k.Shown.CRToNLOut:
		k.shown = append(k.shown, '\n')
	case post && c == '\t' && k.Shown.ExpandTabs:
		k.echo.exact = false // the number of spaces depends on the column
	default:
		k.shown = append(k.shown, c)
	}
	if n := len(k.shown); n > 0 && k.shown[n-1] == '\n' {
		k.cut()
	}
}
