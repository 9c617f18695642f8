package shellmark

// cutEcho takes the echo of a trigger line out of what came between Loaded and Began, with
// the line end behind it, so that the text which the hook prints then stands where the line
// stood. Line editors draw it with colours, and wrap it: sequences that move the cursor or
// erase, spaces and line ends within it go with it, those that set a colour or a mode stay.
// Where there is no such line, nothing is taken away.
func cutEcho(p []byte) []byte {
	for i := len(p) - 1; i >= 0; i-- { // the last one is what was accepted
		if p[i] != triggerLine[0] {
			continue
		}
		if kept, end, ok := matchEcho(p[i:]); ok {
			rest := p[i+end:]
			start := i
			for start > 0 && p[start-1] == ' ' && p[start] != ' ' { // the space before it
				start--
				break
			}
			out := append(p[:start:start], kept...)
			return append(out, rest...)
		}
	}
	return p
}

// matchEcho says whether p begins with the trigger line, where that and the line end behind
// it are over, and which sequences in it stay.
func matchEcho(p []byte) (kept []byte, end int, ok bool) {
	i := 0
	for n := 0; n < len(triggerLine); {
		if i >= len(p) {
			return nil, 0, false
		}
		if triggerLine[n] == ' ' {
			n++
			continue
		}
		if p[i] == triggerLine[n] {
			i, n = i+1, n+1
			continue
		}
		size := filler(p[i:])
		if size == 0 {
			return nil, 0, false
		}
		if stays(p[i : i+size]) {
			kept = append(kept, p[i:i+size]...)
		}
		i += size
	}
	for i < len(p) {
		size := filler(p[i:])
		if size == 0 {
			break
		}
		if stays(p[i : i+size]) {
			kept = append(kept, p[i:i+size]...)
		}
		i += size
	}
	return kept, i, true
}

// filler returns how long that is with which p begins, where it is something that may stand
// within a drawn line and is no part of its text.
func filler(p []byte) int {
	switch p[0] {
	case ' ', '\r', '\n', '\b':
		return 1
	case 0x1b:
	default:
		return 0
	}
	if len(p) < 2 || p[1] != '[' {
		return 0
	}
	for i := 2; i < len(p); i++ {
		switch {
		case p[i] >= 0x40 && p[i] <= 0x7e:
			return i + 1
		case p[i] < 0x20:
			return 0
		}
	}
	return 0
}

// stays says whether a filler sets a colour or a mode.
func stays(p []byte) bool {
	switch p[len(p)-1] {
	case 'm', 'h', 'l':
		return true
	}
	return false
}
