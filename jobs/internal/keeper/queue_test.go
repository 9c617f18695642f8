package keeper

import (
	"testing"
	"testing/synctest"
)

func TestQueueKeepsOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newEventQueue()
		const n = 100
		for i := range n {
			q.push(Event{Kind: Killed, Code: i})
		}
		q.end()
		for i := range n {
			if e := <-q.out; e.Code != i {
				t.Fatalf("event %d comes as number %d", e.Code, i)
			}
		}
		if e, ok := <-q.out; ok {
			t.Errorf("%+v after the end", e)
		}
	})
}

func TestQueueEndsWithoutPump(t *testing.T) {
	q := newEventQueue()
	q.push(Event{Kind: Empty})
	q.end()
	if e := <-q.out; e.Kind != Empty {
		t.Errorf("got %+v", e)
	}
	if _, ok := <-q.out; ok {
		t.Error("not closed")
	}
}

// A job that stops and continues without end uses no memory, and its last state is reported.
func TestQueueThinsStates(t *testing.T) {
	for _, last := range []Kind{Stopped, Continued} {
		synctest.Test(t, func(t *testing.T) {
			q := newEventQueue()
			for range 1000 {
				q.push(Event{Kind: Stopped})
				q.push(Event{Kind: Continued})
			}
			if last == Stopped {
				q.push(Event{Kind: Stopped})
			}
			q.push(Event{Kind: Exited})
			synctest.Wait()
			q.end()
			var got []Kind
			for e := range q.out {
				got = append(got, e.Kind)
			}
			n := len(got)
			if n > 10 || got[n-1] != Exited || got[n-2] != last {
				t.Fatalf("got %v, want few, %v and Exited last", got, last)
			}
			for i := 1; i < n; i++ {
				if got[i] == got[i-1] {
					t.Errorf("%v twice in a row in %v", got[i], got)
				}
			}
		})
	}
}
