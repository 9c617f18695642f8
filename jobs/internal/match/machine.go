package match

import (
	"unicode"
	"unicode/utf8"
)

// An outcome is the result of an attempt to match at one start.
type outcome uint8

const (
	refused outcome = iota // no match here, whatever bytes follow
	matched                // a match, the same whatever bytes follow
	open                   // the attempt touched the end of the text: more bytes may change it
	spent                  // too many steps; nothing is known
)

const (
	maxSteps = 400_000   // instructions in one survey of starts: some 5 ms
	maxTrail = 128 << 10 // entries of the backtracking stack, 24 bytes each
)

// none is the value of a register without a position.
const none = -1

// A machine is a plain backtracking matcher whose one purpose is to notice when an attempt touches the end of the text.
// A match that is found without any attempt before it touching the end depends on no later bytes; that is exactly the
// question that the engine does not answer. The first touch ends the attempt, so that the machine does not explode on
// patterns on which the engine would. It implements no case folding and no properties: it asks the engine which
// characters match, through charset.
//
// A machine keeps only buffers between calls; it is not safe for concurrent use.
type machine struct {
	prog  *program
	text  []byte
	regs  []int
	trail []mark
	steps int // steps left
	wide  []known
}

// A known is the engine's answer for a character that is not ASCII; another query of the engine would take fifty times
// as long.
type known struct {
	set *charset
	c   rune
	has bool
}

// A mark is an entry of the backtracking stack: the choice to continue at instruction pc and at position value, and
// after that at every character before it down to least; or, with pc below 0, the value that register -1-pc had before.
type mark struct{ pc, value, least int }

// load makes the machine ready to try prog on text, which is valid UTF-8.
func (m *machine) load(prog *program, text []byte) {
	m.prog, m.text, m.steps = prog, text, maxSteps
	if cap(m.regs) < prog.registers {
		m.regs = make([]int, prog.registers)
	}
	m.regs = m.regs[:prog.registers]
}

// try attempts a match that starts at pos; end is meaningful if it matched.
func (m *machine) try(pos int) (result outcome, end int) {
	for i := range m.regs {
		m.regs[i] = none
	}
	m.trail = m.trail[:0]
	return m.run(0, pos, 0)
}

// run executes from pc at pos until a match or until the choices above floor on the trail are used up.
func (m *machine) run(pc, pos, floor int) (outcome, int) {
	for {
		if m.steps--; m.steps < 0 || len(m.trail) > maxTrail {
			return spent, 0
		}
		in := &m.prog.insts[pc]
		ok := true
		pc++
		switch in.code {
		case iChar, iSet:
			if !in.back && pos == len(m.text) {
				return open, 0
			}
			pos, ok = m.consume(in, pos)
		case iRef:
			var touched bool
			if pos, ok, touched = m.reference(in, pos); touched {
				return open, 0
			}
		case iStart:
			ok = m.lineStart(pos)
		case iEnd, iWord, iNotWord:
			if pos == len(m.text) {
				return open, 0
			}
			ok = m.edge(in.code, pos)
		case iLook:
			var result outcome
			if ok, result = m.look(in, pos); result == open || result == spent {
				return result, 0
			}
			pc = in.y
		case iRun:
			end := m.runOn(in, pos)
			if end == len(m.text) {
				return open, 0
			}
			m.steps -= (end - pos) / 4 // it is quicker than single steps
			if end > pos {
				_, less := m.before(end)
				m.trail = append(m.trail, mark{pc, less, pos})
			}
			pos = end
		case iSplit:
			m.trail = append(m.trail, mark{in.y, pos, pos})
			pc = in.x
		case iJump:
			pc = in.x
		case iSave:
			m.set(in.x, pos)
		case iClear:
			for r := in.x; r < in.y; r++ {
				m.set(r, none)
			}
		case iZero:
			m.set(in.x, 0)
		case iLoop:
			pc = m.loop(in, pos)
		case iNext:
			// An iteration that consumed nothing is refused after the minimum count, as in ECMAScript.
			ok = m.regs[in.reg] < in.min || m.regs[in.reg+1] != pos
			m.set(in.reg, m.regs[in.reg]+1)
			pc = in.x
		case iMatch:
			return matched, pos
		}
		if !ok {
			if pc, pos = m.backtrack(floor); pc < 0 {
				return refused, 0
			}
		}
	}
}

// runOn returns the end of the characters that in matches.
func (m *machine) runOn(in *inst, pos int) int {
	for pos < len(m.text) {
		next, ok := m.consume(in, pos)
		if !ok {
			break
		}
		pos = next
	}
	return pos
}

// set changes a register so that backtracking restores it.
func (m *machine) set(reg, value int) {
	m.trail = append(m.trail, mark{-1 - reg, m.regs[reg], 0})
	m.regs[reg] = value
}

// backtrack returns to the latest choice above floor; pc is -1 if there is none.
func (m *machine) backtrack(floor int) (pc, pos int) {
	for len(m.trail) > floor {
		top := len(m.trail) - 1
		last := m.trail[top]
		if last.pc >= 0 && last.value > last.least {
			_, m.trail[top].value = m.before(last.value)
			return last.pc, last.value
		}
		m.trail = m.trail[:top]
		if last.pc >= 0 {
			return last.pc, last.value
		}
		m.regs[-1-last.pc] = last.value
	}
	return -1, 0
}

// loop decides where a counted loop continues, and puts the other choice on the trail if there is one.
func (m *machine) loop(in *inst, pos int) int {
	switch count := m.regs[in.reg]; {
	case count < in.min:
		return in.x
	case count >= in.max:
		return in.y
	case in.lazy:
		m.trail = append(m.trail, mark{in.x, pos, pos})
		return in.y
	default:
		m.trail = append(m.trail, mark{in.y, pos, pos})
		return in.x
	}
}

// look decides a lookahead or look-behind at pos. Nothing backtracks into one: of its entries on the trail only the old
// values of registers stay.
func (m *machine) look(in *inst, pos int) (ok bool, result outcome) {
	base := len(m.trail)
	if result, _ = m.run(in.x, pos, base); result == open || result == spent {
		return false, result
	}
	if result == refused || in.negate {
		for pc := 0; pc >= 0; {
			pc, _ = m.backtrack(base)
		}
		return (result == matched) != in.negate, result
	}
	kept := base
	for _, mk := range m.trail[base:] {
		if mk.pc < 0 {
			m.trail[kept] = mk
			kept++
		}
	}
	m.trail = m.trail[:kept]
	return true, result
}

// ahead returns the character at pos, which is not the end, and the position
// after it.
func (m *machine) ahead(pos int) (rune, int) {
	if c := m.text[pos]; c < utf8.RuneSelf {
		return rune(c), pos + 1
	}
	c, size := utf8.DecodeRune(m.text[pos:])
	return c, pos + size
}

// before returns the character before pos, which is not 0, and its position.
func (m *machine) before(pos int) (rune, int) {
	c, size := utf8.DecodeLastRune(m.text[:pos])
	return c, pos - size
}

// consume reads one character in the direction of in. The caller has checked that there is one ahead.
func (m *machine) consume(in *inst, pos int) (next int, ok bool) {
	var c rune
	switch {
	case !in.back:
		c, next = m.ahead(pos)
	case pos == 0:
		return pos, false
	default:
		c, next = m.before(pos)
	}
	if in.set == nil {
		return next, c == in.char
	}
	return next, m.has(in.set, c)
}

// has reports whether set holds c.
func (m *machine) has(set *charset, c rune) bool {
	if c < utf8.RuneSelf {
		return set.ascii[c]
	}
	if m.wide == nil {
		m.wide = make([]known, 256)
	}
	k := &m.wide[uint8(c)]
	if k.set != set || k.c != c {
		*k = known{set, c, set.has(c)}
	}
	return k.has
}

// edge decides $ and the word boundaries at a place with a character ahead.
func (m *machine) edge(c code, pos int) bool {
	next, _ := m.ahead(pos)
	if c == iEnd {
		return m.prog.multiline && isLineBreak(next)
	}
	wordBefore := pos > 0
	if wordBefore {
		last, _ := m.before(pos)
		wordBefore = m.has(m.prog.word, last)
	}
	boundary := m.has(m.prog.word, next) != wordBefore
	return boundary == (c == iWord)
}

// lineStart decides ^.
func (m *machine) lineStart(pos int) bool {
	if pos == 0 || !m.prog.multiline {
		return pos == 0
	}
	last, _ := m.before(pos)
	return isLineBreak(last)
}

// reference consumes the text that group in.x captured: nothing, if the group took no part. touched is true if the text
// ended before the result was certain.
func (m *machine) reference(in *inst, pos int) (next int, ok, touched bool) {
	from, to := m.regs[2*in.x], m.regs[2*in.x+1]
	if from == none || to == none {
		return pos, true, false
	}
	for from < to {
		m.steps--
		var want, got rune
		switch {
		case !in.back && pos == len(m.text):
			return pos, false, true
		case !in.back:
			want, from = m.ahead(from)
			got, pos = m.ahead(pos)
		case pos == 0:
			return pos, false, false
		default:
			want, to = m.before(to)
			got, pos = m.before(pos)
		}
		if want != got && !m.folds(want, got) {
			return pos, false, false
		}
	}
	return pos, true, false
}

// folds reports whether a and b are the same letter to a reference under the i flag. Without u ECMAScript never equates
// ASCII with anything beyond it.
func (m *machine) folds(a, b rune) bool {
	if !m.prog.fold || !m.prog.unicode && (a < utf8.RuneSelf) != (b < utf8.RuneSelf) {
		return false
	}
	for c := unicode.SimpleFold(a); c != a; c = unicode.SimpleFold(c) {
		if c == b {
			return true
		}
	}
	return false
}

// isLineBreak reports whether c is one of ECMAScript's line terminators.
func isLineBreak(c rune) bool {
	return c == '\n' || c == '\r' || c == '\u2028' || c == '\u2029'
}

// forget releases large buffers, and the program and text of the last search.
func (m *machine) forget() {
	m.prog, m.text = nil, nil
	if cap(m.trail) > 4096 {
		m.trail = nil
	}
}
