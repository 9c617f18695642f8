package spool

import (
	"os"
	"slices"
	"sync"
	"testing"
)

func TestBudgetUsedUp(t *testing.T) {
	for _, test := range []struct {
		budget, used int64 // by other spools
		want         []Range
	}{
		{1000, 0, []Range{{0, 100}, {9600, 10000}}},   // its own limit comes first
		{1000, 600, []Range{{0, 100}, {9700, 10000}}}, // the ring stays smaller
		{1000, 900, []Range{{0, 50}, {9950, 10000}}},  // less than a head: half of it for a ring
		{1000, 999, []Range{{9999, 10000}}},
		{1000, 1000, nil},
		{1000, 2000, nil},
		{0, 0, nil},
	} {
		b := NewBudget(test.budget)
		b.charge(test.used)
		s := newSubject(t, Options{Memory: 20, DiskHead: 100, DiskTail: 400, Total: b}, 3)
		for len(s.all) < 10000 {
			s.append(t, 50)
		}
		if got := s.Stored(); !slices.Equal(got, test.want) {
			t.Errorf("%d of %d used: stored %v, not %v", test.used, test.budget, got, test.want)
		}
		if b.Used() > max(test.budget, test.used) {
			t.Errorf("%d of %d used", b.Used(), test.budget)
		}
		s.verify(t)
		if err := s.Finish(); err != nil {
			t.Error(err)
		}
		info, err := os.Stat(s.path)
		if err != nil || b.Used() != test.used+info.Size() {
			t.Errorf("finished with %d bytes, %v: %d used, and %d before", info.Size(), err, b.Used(), test.used)
		}
		s.checkFile(t, finished(s.all, s.Stored()))
		s.verify(t)
		if err := s.Remove(); err != nil || b.Used() != test.used {
			t.Errorf("removed: %v, %d used", err, b.Used())
		}
	}
}

// Space that one spool returns is available to others.
func TestBudgetComesBack(t *testing.T) {
	b := NewBudget(100)
	first := newSubject(t, Options{Memory: 8, DiskHead: 50, DiskTail: 50, Total: b}, 1)
	first.append(t, 100)
	if err := first.Remove(); err != nil {
		t.Fatal(err)
	}
	second := newSubject(t, Options{Memory: 8, DiskHead: 50, DiskTail: 50, Total: b}, 2)
	second.append(t, 100)
	if got := second.Stored(); !slices.Equal(got, []Range{{0, 100}}) {
		t.Errorf("stored %v", got)
	}
}

func TestBudgetIsNeverExceeded(t *testing.T) {
	b := NewBudget(5000)
	var wg sync.WaitGroup
	for i := range 8 {
		s := newSubject(t, Options{Memory: 64, DiskHead: 500, DiskTail: 2000, Total: b}, uint64(i))
		wg.Go(func() {
			for range 200 {
				s.append(t, 37)
				if used := b.Used(); used > 5000 {
					t.Errorf("%d used", used)
				}
			}
		})
	}
	wg.Wait()
	if used := b.Used(); used != 5000 {
		t.Errorf("%d used in the end, of 5000 that were asked for", used)
	}
}

func TestTakeAll(t *testing.T) {
	b := NewBudget(10)
	for _, test := range []struct {
		n, used int64
		ok      bool
	}{{7, 7, true}, {4, 7, false}, {3, 10, true}, {1, 10, false}, {0, 10, true}} {
		if ok := b.takeAll(test.n); ok != test.ok || b.Used() != test.used {
			t.Errorf("%d taken: %v, %d used", test.n, ok, b.Used())
		}
	}
}
