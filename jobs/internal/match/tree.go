package match

// An op is the kind of a node of the syntax tree.
type op uint8

const (
	opEmpty     op = iota // matches nothing, always
	opChar                // one literal character: node.char
	opClass               // one character out of a set: node.set
	opStart               // ^
	opEnd                 // $
	opWord                // \b
	opNotWord             // \B
	opBackref             // \1 or \k<name>: node.refs
	opSeq                 // kids one after another
	opAlt                 // the first of kids that leads to a match
	opGroup               // ( ): kids[0], captured as node.group
	opRepeat              // kids[0], node.min to node.max times
	opLook                // lookahead or lookbehind on kids[0]
	numberOfOps = iota
)

// infinite is the upper bound of a quantifier without one.
const infinite = int(^uint(0) >> 1)

// A node is one construct of a pattern. Non-capturing groups leave no node of their own. The op decides which fields
// are in use.
type node struct {
	op     op
	kids   []*node
	char   rune     // opChar
	set    *charset // opClass; opChar if case is ignored and the character has two
	group  int      // opGroup: its number, from 1
	refs   []int    // opBackref: the group numbers that it may stand for
	min    int      // opRepeat
	max    int      // opRepeat; infinite if unbounded
	lazy   bool     // opRepeat
	behind bool     // opLook
	negate bool     // opLook

	// The capture groups inside an opRepeat are firstGroup to lastGroup-1; ECMAScript forgets them at the start of
	// every iteration.
	firstGroup, lastGroup int
}

// walk visits n and its descendants, parents first. If visit returns false, it skips the descendants of that node.
func (n *node) walk(visit func(*node) bool) {
	if !visit(n) {
		return
	}
	for _, k := range n.kids {
		k.walk(visit)
	}
}
