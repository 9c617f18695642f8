package roots

import (
	"strconv"
	"strings"
)

// ansiC decodes the text between $' and '. ok is false if shells differ, or if the result depends on the locale.
func ansiC(text string) (decoded string, ok bool) {
	var out strings.Builder
	for i := 0; i < len(text); {
		if text[i] != '\\' || i+1 == len(text) {
			out.WriteByte(text[i])
			i++
			continue
		}
		c, size := escape(text[i+1:])
		if c <= 0 || c > 0x7f {
			return out.String(), false
		}
		out.WriteByte(byte(c))
		i += 1 + size
	}
	return out.String(), true
}

// escape returns the character of an escape sequence without its backslash, and its length; -1 for an unknown sequence.
func escape(text string) (c, size int) {
	if i := strings.IndexByte(`abeEfnrtv\'"?`, text[0]); i >= 0 {
		return int("\a\b\x1b\x1b\f\n\r\t\v\\'\"?"[i]), 1
	}
	switch text[0] {
	case 'x':
		return digits(text, 1, 2, 16)
	case 'u':
		return digits(text, 1, 4, 16)
	case 'U':
		return digits(text, 1, 8, 16)
	case '0', '1', '2', '3', '4', '5', '6', '7':
		return digits(text, 0, 3, 8)
	}
	return -1, 0
}

// digits parses up to most digits from an index on.
func digits(text string, from, most, radix int) (c, size int) {
	end := from
	for end < len(text) && end-from < most {
		if _, err := strconv.ParseUint(text[end:end+1], radix, 8); err != nil {
			break
		}
		end++
	}
	n, err := strconv.ParseUint(text[from:end], radix, 32)
	if err != nil {
		return -1, 0
	}
	return int(n), end
}
