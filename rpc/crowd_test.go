package rpc_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
)

// TestCrowd: clients come, start jobs, listen to all of them, and go in every way, all at the same time. None of them gets
// stuck, and the session ends when they have gone.
func TestCrowd(t *testing.T) {
	h := share(t)
	rounds := 12
	if testing.Short() {
		rounds = 4
	}
	h.join("first", "lease", obj{"idleMs": longAgo, "detachedMs": longAgo}, "jobs", obj{"graceMs": longAgo}).leave()
	var all sync.WaitGroup
	for i := range 6 {
		rnd := rand.New(rand.NewPCG(1, uint64(i)))
		all.Go(func() {
			for round := range rounds {
				id := map[bool]string{true: fmt.Sprintf("c%d", (i+round%2)%6)}[i > 1] // some have none, and some replace others
				s := h.connect(-1, -1)
				s.begin("initialize", obj{"session": named(id, obj{"jobs": obj{"graceMs": longAgo}})}).answerOrEnd()
				s.begin("job/start", obj{"argv": []string{"seq", "2000"}, "mode": "pipe", "whenSlow": "block", "onDetach": []string{"end", "keep"}[rnd.IntN(2)]})
				s.begin("job/start", obj{"argv": []string{"sleep", "600"}})
				for j := 1; j < 8; j++ {
					s.begin("job/subscribe", obj{"handle": rnd.IntN(6*rounds) + 1, "from": "start", "after": 0, "whenDetached": "hold"})
				}
				switch rnd.IntN(4) {
				case 0:
					s.begin("session/detach", nil).answerOrEnd()
				case 1:
					s.begin("shutdown", nil).answerOrEnd()
				case 2:
					s.begin("session/get", nil).answerOrEnd()
				}
				s.cut()
			}
		})
	}
	all.Wait()
	h.done()
}

// answerOrEnd waits for an answer, or the end of the connection.
func (c *call) answerOrEnd() {
	c.s.t.Helper()
	c.s.cutOff.Store(true) // It may be replaced at any time.
	c.s.comes("answer to "+c.method, func() bool { return len(c.s.answers[c.id]) > c.taken })
}
