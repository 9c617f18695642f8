package match

import (
	"bytes"
	"fmt"
	"testing"
	"time"
)

func TestTmp(t *testing.T) {
	b64 := bytes.Repeat([]byte("QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo"), 1<<20/35)
	p := compile(t, `(a|b|[A-Z0-9a-z])*`, "")
	for _, n := range []int{1000, 16 << 10, 32 << 10, 64 << 10, 80 << 10} {
		t0 := time.Now()
		sp, err := p.engine.find(b64[:n], 0)
		d := time.Since(t0)
		var m machine
		t0 = time.Now()
		m.load(p.prog, b64[:n])
		r, _ := m.try(0)
		fmt.Println(n, d, len(sp), err, "machine", time.Since(t0), r, len(m.trail), m.steps)
	}
}
