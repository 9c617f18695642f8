package turn

import (
	"slices"
	"testing"
)

func TestMailboxKeepsOrderAndRefusesAfterClose(t *testing.T) {
	b := NewMailbox[int]()
	if !b.Empty() {
		t.Error("a new mailbox is not empty")
	}
	for i := range 3 {
		if !b.Put(i) {
			t.Fatalf("Put(%d) is refused", i)
		}
	}
	if got := b.Take(); !slices.Equal(got, []int{0, 1, 2}) {
		t.Errorf("Take returns %v", got)
	}
	b.Put(3)
	b.Add(4)
	b.Edit(func(queue []int) []int { slices.Reverse(queue); return queue })
	if got := b.Close(); !slices.Equal(got, []int{4, 3}) {
		t.Errorf("Close returns %v", got)
	}
	if b.Put(5) || b.Add(6) || !b.Empty() {
		t.Error("a closed mailbox takes messages")
	}
}

func TestMailboxWake(t *testing.T) {
	woken := func(b *Mailbox[int]) bool {
		select {
		case <-b.Wake():
			return true
		default:
			return false
		}
	}
	b := NewMailbox[int]()
	b.Add(1)
	if woken(b) {
		t.Error("Add wakes the receiver")
	}
	b.Put(2)
	b.Put(3) // It does not block: one wake-up is enough for both.
	b.Poke()
	if !woken(b) || woken(b) {
		t.Error("two puts and a poke do not wake the receiver exactly once")
	}
	b.Close()
	if b.Put(4); woken(b) {
		t.Error("a refused Put wakes the receiver")
	}
}

func TestLock(t *testing.T) {
	l := NewLock()
	if !l.TryLock() {
		t.Fatal("a new lock is held")
	}
	if l.TryLock() {
		t.Fatal("a held lock is taken once more")
	}
	waited := make(chan struct{})
	go func() {
		l.Wait()
		close(waited)
	}()
	select {
	case <-waited:
		t.Error("Wait returns while the lock is held")
	default:
	}
	l.Unlock()
	<-waited
	if !l.TryLock() {
		t.Error("Wait keeps the lock")
	}
}

func TestTokensDiffer(t *testing.T) {
	if a, b := new(Token), new(Token); a == b {
		t.Error("two tokens have one address")
	}
}

func TestLockCheck(t *testing.T) {
	l := NewLock()
	l.Lock()
	l.Check()
	l.Unlock()
	defer func() {
		if recover() == nil {
			t.Error("no panic without a turn")
		}
	}()
	l.Check()
}
