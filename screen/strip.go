package screen

import "bytes"

// StripQueries appends p to dst without the queries that a [Scanner] would report: for a terminal that would answer
// them a second time. A query may come in two pieces. So if p may end with the beginning of one, StripQueries
// leaves it out, and held is its length, at most 1023 bytes; the caller puts it before the next piece. An ESC begins a
// sequence anywhere, so p may begin anywhere; and it aborts an open sequence or string. So if StripQueries removes such
// an ESC with a query, it puts a CAN in its place, which aborts likewise. The caller passes what was open before p, and
// gets back what is open after it.
func StripQueries(dst, p []byte, open Open) (out []byte, held int, after Open) {
	unread := p // not passed to open yet
	for {
		next := bytes.IndexByte(p, esc)
		if next < 0 {
			return append(dst, p...), 0, open.After(unread)
		}
		dst, p = append(dst, p[:next]...), p[next:]
		n, found := queryAt(p)
		switch found {
		case isOpen:
			return dst, n, open.After(unread[:len(unread)-len(p)])
		case isOther:
			dst = append(dst, p[:n]...)
		default:
			if open.After(unread[:len(unread)-len(p)]).aborted() {
				dst = append(dst, can)
			}
			dst = appendControls(dst, p[:n])
			open, unread = Open{}, p[n:]
		}
		p = p[n:]
	}
}

// A finding is the kind of text at an ESC.
type finding int

const (
	isOther finding = iota
	isWhole         // a query
	isOpen          // the possible beginning of a query
)

// queryAt returns the kind and length of the text at the beginning of p, which is an ESC. For text that is not a query,
// the length is as much as is certain.
func queryAt(p []byte) (n int, found finding) {
	if n = mayAsk(p); n > 0 {
		return n, isOther
	}
	var s Scanner
	for i := range min(len(p), queryBytes) {
		s.Scan(p[i : i+1])
		switch {
		case s.begun > 0:
			return int(s.begun), isOther // another sequence has begun
		case len(s.asked) > 0:
			return i + 1, isWhole
		case i > 0 && s.state == ground:
			return i + 1, isOther
		case s.str == otherString:
			return i, isOther
		}
	}
	if len(p) >= queryBytes {
		return 1, isOther
	}
	return len(p), isOpen
}

// mayAsk returns 0 if p may begin a query, and otherwise the length of the text that certainly is not one. It decides
// nearly all sequences.
func mayAsk(p []byte) int {
	if len(p) < 2 {
		return 0
	}
	switch p[1] {
	case '[':
		for i, c := range p[2:] {
			if c < 0x20 || c > 0x3f {
				if c < '@' || c >= del || asks>>(c&0x3f)&1 != 0 {
					return 0
				}
				return i + 3
			}
		}
		return 0
	case ']':
		rest := bytes.TrimLeft(p[2:], "0") // of a number
		for _, number := range []string{"4;", "10;", "11;", "12;"} {
			if begins(rest, number) {
				return 0
			}
		}
		return 2
	case 'P':
		if begins(p[2:], settingQuery) || begins(p[2:], capabilityQuery) {
			return 0
		}
		return 2
	case 'Z', esc:
		return 0
	}
	if p[1] < 0x20 || p[1] == del {
		return 0
	}
	return 1
}

// asks are the final bytes of control sequences that may ask, encoded as for matters.
const asks uint64 = 1<<('p'&0x3f) | 1<<('t'&0x3f) | 1<<('c'&0x3f) | 1<<('n'&0x3f) | 1<<('q'&0x3f)

// begins reports whether p may begin with a string: as far as p goes, it does.
func begins(p []byte, with string) bool {
	n := min(len(p), len(with))
	return string(p[:n]) == with[:n]
}

// appendControls keeps the controls within a control sequence, which a terminal performs by themselves.
func appendControls(dst, query []byte) []byte {
	if query[1] != '[' {
		return dst
	}
	for _, c := range query {
		if c < 0x20 && c != esc {
			dst = append(dst, c)
		}
	}
	return dst
}
