package shellmark

// cutEcho removes the echo of a trigger line from the output between Loaded and Began, with the line end after it, so
// that the text which the hook prints takes its place. Line editors draw the line with colours and repeatedly, and wrap
// it: cutEcho also removes sequences that move the cursor or erase, and spaces and line ends within and after the line.
// It keeps sequences that set a colour, a mode or a title. Without such a line, it removes nothing.
func cutEcho(p []byte) []byte {
	var out []byte
	for from, i := 0, 0; ; i++ {
		if i == len(p) {
			return append(out, p[from:]...)
		}
		kept, end, ok := echoAt(p[i:])
		if !ok {
			continue
		}
		start := i
		if start > from && p[start-1] == ' ' { // the space before the line
			start--
		}
		out = append(append(out, p[from:start]...), kept...)
		from, i = i+end, i+end-1
	}
}

// echoAt reports whether p begins with one of the trigger lines. Its results are those of matchEcho.
func echoAt(p []byte) (kept []byte, end int, ok bool) {
	for _, line := range triggerLines {
		if p[0] == line[0] {
			if kept, end, ok = matchEcho(p, line); ok {
				return kept, end, true
			}
		}
	}
	return nil, 0, false
}

// matchEcho reports whether p begins with the line. It returns the end of the line and of the sequences drawn after it,
// and the sequences to keep.
func matchEcho(p []byte, line string) (kept []byte, end int, ok bool) {
	i, n := 0, 0
	for i < len(p) {
		for n < len(line) && line[n] == ' ' {
			n++
		}
		if n < len(line) && p[i] == line[n] {
			i, n = i+1, n+1
			continue
		}
		size, stays := filler(p[i:])
		if size == 0 {
			break
		}
		if stays {
			kept = append(kept, p[i:i+size]...)
		}
		i += size
	}
	return kept, i, n == len(line)
}

// filler returns the length of the sequence at the start of p, if that may occur in a drawn line without being part of
// its text, and whether to keep it when the line is removed.
func filler(p []byte) (size int, stays bool) {
	switch {
	case p[0] == ' ' || p[0] == '\r' || p[0] == '\n' || p[0] == '\b':
		return 1, false
	case p[0] != 0x1b || len(p) < 2:
		return 0, false
	}
	switch p[1] {
	case '[':
		return control(p)
	case ']':
		return command(p)
	case '(', ')':
		return min(3, len(p)), true
	case '=', '>':
		return 2, true
	}
	return 0, false
}

// control is filler for a control sequence (CSI).
func control(p []byte) (size int, stays bool) {
	for i := 2; i < len(p); i++ {
		switch {
		case p[i] >= 0x40 && p[i] <= 0x7e:
			return i + 1, p[i] == 'm' || p[i] == 'h' || p[i] == 'l'
		case p[i] < 0x20:
			return 0, false
		}
	}
	return 0, false
}

// command is filler for an operating system command (OSC), such as the title.
func command(p []byte) (size int, stays bool) {
	for i := 2; i < len(p); i++ {
		switch {
		case p[i] == '\a':
			return i + 1, true
		case p[i] == 0x1b && i+1 < len(p) && p[i+1] == '\\':
			return i + 2, true
		case p[i] < 0x20:
			return 0, false
		}
	}
	return 0, false
}
