package match

// A code is the operation of one instruction.
type code uint8

const (
	iChar    code = iota // consume char
	iSet                 // consume a character out of set
	iRef                 // consume the text that group x captured
	iStart               // assert ^
	iEnd                 // assert $
	iWord                // assert \b
	iNotWord             // assert \B
	iLook                // assert the program at x, continue at y
	iRun                 // consume as many characters out of set, or char, as there are; fewer on backtracking
	iSplit               // try x, then y
	iJump                // continue at x
	iSave                // register x = position
	iClear               // registers x to y-1 = none
	iZero                // register x = 0
	iLoop                // begin the next iteration (at x) or leave (to y), as the count in register reg allows
	iNext                // count an iteration, its start being in register reg+1, back to x
	iMatch               // done
)

// An inst is one instruction. The code decides which fields are in use.
type inst struct {
	code     code
	back     bool // read towards the start, as look-behind does
	negate   bool
	lazy     bool
	char     rune
	set      *charset
	x, y     int
	reg      int
	min, max int
}

// A program is a pattern compiled for the machine. It is immutable.
type program struct {
	insts     []inst
	registers int      // 0 and 1 the match, 2n and 2n+1 group n, then two for each loop
	word      *charset // \w, if there is a \b or \B
	multiline bool
	fold      bool // references ignore case
	unicode   bool
}

func newProgram(root *node, f flags, groups int) *program {
	p := &program{
		registers: 2 * (groups + 1),
		multiline: f.multiline,
		fold:      f.ignoreCase,
		unicode:   f.unicode,
	}
	root.walk(func(n *node) bool {
		if p.word == nil && (n.op == opWord || n.op == opNotWord) {
			p.word = newCharset(`\w`, f)
		}
		return true
	})
	p.node(root, false)
	p.emit(inst{code: iMatch})
	return p
}

// emit appends one instruction and returns its address.
func (p *program) emit(i inst) int {
	p.insts = append(p.insts, i)
	return len(p.insts) - 1
}

// here returns the address of the next instruction.
func (p *program) here() int { return len(p.insts) }

// node compiles n; back is true inside a look-behind, which matches a sequence from its last term to its first.
func (p *program) node(n *node, back bool) {
	switch n.op {
	case opEmpty:
	case opChar, opClass:
		if n.set != nil {
			p.emit(inst{code: iSet, set: n.set, back: back})
		} else {
			p.emit(inst{code: iChar, char: n.char, back: back})
		}
	case opStart:
		p.emit(inst{code: iStart})
	case opEnd:
		p.emit(inst{code: iEnd})
	case opWord:
		p.emit(inst{code: iWord})
	case opNotWord:
		p.emit(inst{code: iNotWord})
	case opBackref:
		for _, g := range n.refs { // of groups with one name at most one is set
			p.emit(inst{code: iRef, x: g, back: back})
		}
	case opSeq:
		for i := range n.kids {
			if back {
				i = len(n.kids) - 1 - i
			}
			p.node(n.kids[i], back)
		}
	case opAlt:
		p.alternatives(n, back)
	case opGroup:
		first, last := 2*n.group, 2*n.group+1
		if back {
			first, last = last, first
		}
		p.emit(inst{code: iSave, x: first})
		p.node(n.kids[0], back)
		p.emit(inst{code: iSave, x: last})
	case opRepeat:
		p.repeat(n, back)
	case opLook:
		look := p.emit(inst{code: iLook, negate: n.negate})
		p.insts[look].x = p.here()
		p.node(n.kids[0], n.behind)
		p.emit(inst{code: iMatch})
		p.insts[look].y = p.here()
	}
}

func (p *program) alternatives(n *node, back bool) {
	var ends []int
	for _, k := range n.kids[:len(n.kids)-1] {
		split := p.emit(inst{code: iSplit})
		p.insts[split].x = p.here()
		p.node(k, back)
		ends = append(ends, p.emit(inst{code: iJump}))
		p.insts[split].y = p.here()
	}
	p.node(n.kids[len(n.kids)-1], back)
	for _, e := range ends {
		p.insts[e].x = p.here()
	}
}

func (p *program) repeat(n *node, back bool) {
	body := n.kids[0]
	if n.max == 0 {
		return
	}
	if (body.op == opChar || body.op == opClass) && n.max == infinite && n.min <= 1 {
		p.repeatChar(n, back)
		return
	}
	reg := p.registers
	p.registers += 2
	p.emit(inst{code: iZero, x: reg})
	loop := p.emit(inst{code: iLoop, reg: reg, min: n.min, max: n.max, lazy: n.lazy})
	p.insts[loop].x = p.here()
	p.emit(inst{code: iSave, x: reg + 1})
	if n.firstGroup < n.lastGroup {
		p.emit(inst{code: iClear, x: 2 * n.firstGroup, y: 2 * n.lastGroup})
	}
	p.node(body, back)
	p.emit(inst{code: iNext, reg: reg, min: n.min, x: loop})
	p.insts[loop].y = p.here()
}

// repeatChar compiles X* and X+ of one character, which need no registers.
func (p *program) repeatChar(n *node, back bool) {
	if n.min == 1 {
		p.node(n.kids[0], back)
	}
	if !n.lazy && !back {
		p.node(n.kids[0], back)
		p.insts[len(p.insts)-1].code = iRun
		return
	}
	split := p.emit(inst{code: iSplit})
	body := p.here()
	p.node(n.kids[0], back)
	p.emit(inst{code: iJump, x: split})
	p.insts[split].x, p.insts[split].y = body, p.here()
	if n.lazy {
		p.insts[split].x, p.insts[split].y = p.here(), body
	}
}
