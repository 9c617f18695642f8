package match

import (
	"strings"
	"sync"
	"testing"
)

func TestShape(t *testing.T) {
	const many = infinite
	for _, test := range []struct {
		pattern, flags string
		reach, behind  int
		lf, cr         bool
		must           string
		straight       bool
	}{
		{`>>> `, "", 4, 0, true, true, ">>> ", true},
		{`^a.b$`, "m", 4, 1, true, true, "a b", true},
		{`a.b`, "s", 3, 0, false, false, "a b", true},
		{`listening on (\d+)`, "", many, 0, true, true, "listening on ", false},
		{`BEGIN[^]*?END`, "", many, 0, false, false, "BEGIN END", false},
		{`[^\n]+`, "", many, 0, true, false, "", false},
		{`[^\r\n]{2,5}x`, "", 6, 0, true, true, "x", false},
		{`a\s*b`, "", many, 0, false, false, "a b", false},
		{`foo(?=\nbar)`, "", 7, 0, false, true, "foo", false},
		{`foo(?!bar)`, "", 6, 0, true, true, "foo", false},
		{`(?<=ab)c`, "", 1, 3, true, true, "c", false},
		{`(?<=a+)c`, "", 1, many, true, true, "c", false},
		{`(?<=\s(?=\nb)x\b)c`, "", 2, 3, false, true, "c", false},
		{`foo\b`, "", 4, 1, true, true, "foo", true},
		{`(ab|cd)ef(?:gh)+`, "", many, 0, true, true, "ef gh", false},
		{`(?<=(\n))\1x`, "", many, 2, false, false, "x", false},
		{`x1-error`, "i", 8, 0, true, true, "1-", true},
		{``, "", 0, 0, true, true, "", true},
	} {
		p := compile(t, test.pattern, test.flags)
		sh := &p.shape
		var must []string
		for _, part := range sh.must {
			must = append(must, string(part))
		}
		if sh.reach != test.reach || sh.behind != test.behind || sh.lf != test.lf || sh.cr != test.cr || strings.Join(must, " ") != test.must || (p.engine.limit == 0) != test.straight {
			t.Errorf("/%s/%s: reach %d, behind %d, lf %v, cr %v, must %q, limit %v", test.pattern, test.flags, sh.reach, sh.behind, sh.lf, sh.cr, must, p.engine.limit)
		}
	}
}

func TestPatternIsSafeForConcurrentUse(t *testing.T) {
	p := compile(t, `(?<word>\w+)\s+(?=[é日]|\d)`, "iu")
	var wg sync.WaitGroup
	results := make([]string, 4)
	for i := range results {
		wg.Go(func() {
			s := NewSet(0)
			s.Add(1, p, Options{})
			var all []string
			for range 200 {
				all = append(all, texts(s.Feed([]byte("foo é bar 日\nbaz 1 quux ")))...)
			}
			results[i] = strings.Join(append(all, texts(s.Settle())...), ",")
		})
	}
	wg.Wait()
	for i, r := range results {
		if r != results[0] || !strings.Contains(r, "foo ") {
			t.Errorf("goroutine %d found something else", i)
		}
	}
}

// A pattern with every kind of node yields a program with the instructions for them.
func TestEveryNodeIsCompiled(t *testing.T) {
	p := newParser(`(?:|a)[b]^$\b\B(c)\1(?=d)(?<=e)f*`, flags{multiline: true})
	root, err := p.parse()
	if err != nil {
		t.Fatal(err)
	}
	var seen [numberOfOps]bool
	root.walk(func(n *node) bool {
		seen[n.op] = true
		return true
	})
	for o, ok := range seen {
		if !ok {
			t.Errorf("the pattern has no node of kind %d", o)
		}
	}
	codes := map[code]bool{}
	for _, in := range newProgram(root, p.flags, p.groups).insts {
		codes[in.code] = true
	}
	for _, c := range []code{iChar, iSet, iRun, iRef, iStart, iEnd, iWord, iNotWord, iLook, iSplit, iJump, iSave, iMatch} {
		if !codes[c] {
			t.Errorf("the program has no instruction %d", c)
		}
	}
}
