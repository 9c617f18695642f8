package follow

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"shelld.dev/shelld/jobs/internal/echo"
	"shelld.dev/shelld/jobs/internal/match"
	"shelld.dev/shelld/jobs/internal/proc"
	"shelld.dev/shelld/jobs/internal/spool"
	"shelld.dev/shelld/jobs/internal/turn"
)

// A fakeSource is a stream that a test writes to.
type fakeSource struct {
	spool *spool.Spool
	last  time.Time // time of the last write
	all   int64     // one more than the end of the output if that is all for now
}

func (s *fakeSource) Name() string            { return "pty" }
func (s *fakeSource) Spool() *spool.Spool     { return s.spool }
func (s *fakeSource) QuietFor() time.Duration { return time.Since(s.last) }
func (s *fakeSource) IsAll(offset int64) bool { return s.all == offset+1 }

func (s *fakeSource) write(text string) {
	s.last = time.Now()
	s.spool.Append([]byte(text))
}

// A fakeOwner keeps all reports.
type fakeOwner struct {
	mu      sync.Mutex
	hits    []Hit
	synced  []answer
	leaned  int
	held    bool              // it does not take hits
	batches []chan<- struct{} // the channels of the batches that it has not taken
}

// An answer holds the arguments of a call of Synced.
type answer struct {
	tok    *turn.Token
	partly bool
}

func (o *fakeOwner) Hits(hits []Hit, taken chan<- struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.hits = append(o.hits, hits...)
	o.batches = append(o.batches, taken)
	if !o.held {
		o.take()
	}
}

func (o *fakeOwner) take() {
	for _, taken := range o.batches {
		taken <- struct{}{}
	}
	o.batches = nil
}

func (o *fakeOwner) Synced(tok *turn.Token, partly bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.synced = append(o.synced, answer{tok, partly})
}

func (o *fakeOwner) Leans() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.leaned++
}

func (o *fakeOwner) Unreadable(at int64, err error) error { return fmt.Errorf("at %d: %w", at, err) }

// found returns the hits since the last call, as text.
func (o *fakeOwner) found() (all []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, h := range o.hits {
		switch {
		case h.Match != nil:
			all = append(all, fmt.Sprintf("%d: %s at %d", h.Key, h.Match.Text, h.Match.Start))
		case h.Removed != nil:
			all = append(all, fmt.Sprintf("%d: removed: %v", h.Key, h.Removed))
		default:
			all = append(all, fmt.Sprintf("%d: behind: %v", h.Key, h.Behind))
		}
	}
	o.hits = nil
	return all
}

// A fake is a follower with one stream.
type fake struct {
	*Follower
	t     *testing.T
	owner *fakeOwner
	src   *fakeSource
}

// inBubble runs a test with a follower in a synctest bubble.
func inBubble(t *testing.T, test func(f *fake)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{t: t, owner: &fakeOwner{}, src: &fakeSource{spool: spool.New(4 << 20), last: time.Now()}}
		f.Follower = New(f.owner)
		defer match.StopClock() // which runs in the bubble
		defer f.Close()
		test(f)
	})
}

// add adds a pattern, and waits until the follower has it.
func (f *fake) add(key int, pattern string) {
	f.t.Helper()
	f.addTo(Pattern{Key: key}, pattern)
}

func (f *fake) addTo(p Pattern, pattern string) {
	f.t.Helper()
	c, err := match.Compile(pattern, "")
	if err != nil {
		f.t.Fatal(err)
	}
	p.Source, p.Pattern = f.src, c
	f.Add(p)
	synctest.Wait()
}

// prints writes a little output, as a readLoop does.
func (f *fake) prints(text string) {
	f.src.write(text)
	f.OutputCame(true)
}

// want compares the hits since the last call.
func (f *fake) want(when string, hits ...string) {
	f.t.Helper()
	if got := f.owner.found(); !slices.Equal(got, hits) {
		f.t.Errorf("%s: %q, want %q", when, got, hits)
	}
}

// A little output is matched by the goroutine that stores it.
func TestMatchesInline(t *testing.T) {
	inBubble(t, func(f *fake) {
		f.add(1, "b+")
		f.add(2, "c")
		f.prints("abbc")
		f.want("at once", "1: bb at 1", "2: c at 3")
		f.Remove(1)
		synctest.Wait()
		f.prints("abbc")
		f.want("without the first pattern", "2: c at 7")
	})
}

// A match that more output could change counts after the quiet time, or when no more output comes for now.
func TestLeaningMatches(t *testing.T) {
	inBubble(t, func(f *fake) {
		f.add(1, `\$ $`)
		f.prints("$ ")
		if !f.Leans() {
			t.Error("it does not lean on the end")
		}
		time.Sleep(QuietTime - time.Millisecond)
		f.want("before the quiet time")
		time.Sleep(time.Millisecond)
		synctest.Wait()
		f.want("after the quiet time", "1: $  at 0")
		if f.Leans() {
			t.Error("it still leans on the end")
		}

		f.src.write("$ ")
		f.Poke()
		synctest.Wait()
		f.want("while more may come")
		if f.owner.leaned != 1 {
			t.Errorf("Owner.Leans was called %d times, want once", f.owner.leaned)
		}
		f.src.all = f.src.spool.End() + 1
		f.Poke()
		synctest.Wait()
		f.want("when that is all", "1: $  at 2")
	})
}

// The echo of typed input is not matched. The output after it is.
func TestEchoIsNotMatched(t *testing.T) {
	inBubble(t, func(f *fake) {
		typed := &echo.Typed{Data: []byte("hello\r"), Attrs: proc.Attrs{}} // The program makes the echo.
		f.addTo(Pattern{Key: 1, Typed: typed}, "hello")
		f.add(2, "hello")
		f.prints("hello\r\nhello\r\n")
		slices.SortFunc(f.owner.hits, func(a, b Hit) int { return cmp.Compare(a.Key, b.Key) })
		f.want("both", "1: hello at 7", "2: hello at 0", "2: hello at 7")
	})
}

// A Sync is answered when all stored output is matched, or, if it is hastened, after one turn.
func TestSync(t *testing.T) {
	inBubble(t, func(f *fake) {
		f.add(1, "end")
		whole, part := new(turn.Token), new(turn.Token)
		release := f.Hold()
		f.src.write(strings.Repeat("-", 4*turnBytes) + "end")
		f.Sync(whole, nil, false)
		f.Sync(part, []int{1}, false)
		f.Hasten(part)
		release()
		synctest.Wait()
		if want := []answer{{part, true}, {whole, false}}; !slices.Equal(f.owner.synced, want) {
			t.Errorf("answered %v, want %v", f.owner.synced, want)
		}
		f.want("when both are answered", fmt.Sprintf("1: end at %d", 4*turnBytes))
	})
}

// A Sync that settles counts the matches that more output could change.
func TestSettle(t *testing.T) {
	inBubble(t, func(f *fake) {
		f.add(1, "x+")
		f.prints("xx")
		f.want("while more may come")
		f.Sync(new(turn.Token), nil, true)
		synctest.Wait()
		f.want("at the end", "1: xx at 0")
	})
}

// GiveUp reports the patterns that have not seen all of the output, and skips it.
func TestGiveUp(t *testing.T) {
	inBubble(t, func(f *fake) {
		f.add(1, "end")
		tok := new(turn.Token)
		release := f.Hold()
		f.src.write("the end")
		f.Sync(tok, nil, true)
		f.GiveUp(tok, false)
		f.late.tok, f.late.from = tok, time.Now().Add(-lastLook)
		release()
		synctest.Wait()
		f.want("given up", "1: behind: the job ended, and its output came faster than it could be matched; not searched: pty from offset 0 on")
		if !slices.Equal(f.owner.synced, []answer{{tok, false}}) {
			t.Errorf("answered %v", f.owner.synced)
		}
		f.prints("the end")
		f.want("what comes later", "1: end at 11")
	})
}

// If there are very many matches, some are reported, with the last one, and the others are counted.
func TestManyMatchesAreThinned(t *testing.T) {
	inBubble(t, func(f *fake) {
		f.add(1, "y")
		const size = 256 << 10
		for range size >> 10 {
			f.prints(strings.Repeat("y", 1<<10))
		}
		f.Sync(new(turn.Token), nil, true)
		synctest.Wait()
		told, passed := len(f.owner.hits), int64(0)
		for _, h := range f.owner.hits {
			passed += h.Passed
		}
		if last := f.owner.hits[told-1].Match; int64(told)+passed != size || told > size>>10*batchMatches || last.End != size {
			t.Errorf("%d told, %d passed of %d, the last to %d", told, passed, size, last.End)
		}
	})
}

// A batch of hits waits until the owner has taken the one before.
func TestWaitsForTheOwner(t *testing.T) {
	inBubble(t, func(f *fake) {
		f.add(1, "y")
		f.owner.held = true
		for range 100 {
			f.prints(strings.Repeat("y", 4<<10))
		}
		synctest.Wait()
		if n := len(f.owner.batches); n != 1 {
			t.Errorf("%d batches wait for the owner", n)
		}
		f.owner.held = false
		f.owner.take()
		f.Sync(new(turn.Token), nil, true)
		synctest.Wait()
		if last := f.owner.hits[len(f.owner.hits)-1].Match; last.End != 400<<10 {
			t.Errorf("the last match ends at %d", last.End)
		}
	})
}

// After GiveUp, a pattern that exceeds its time limit does not use up the time of the patterns behind it. This is
// limited to a few such patterns, and does not hold if a kill waits.
func TestExplodingPatternsHarmNoOther(t *testing.T) {
	defer match.StopClock()
	const bomb = "^(([a-z])+.)+[A-Z]([a-z])+$"
	for _, c := range []struct {
		name     string
		patterns []string
		pressed  bool
		seen     bool
	}{
		{"two of them", []string{bomb, bomb, "end"}, false, true},
		{"as many as have time", []string{bomb, bomb, bomb, bomb, "end"}, false, true},
		{"too many", []string{bomb, bomb, bomb, bomb, bomb, bomb, "end"}, false, false},
		{"if a kill waits", []string{bomb, bomb, "end"}, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := &Follower{quit: make(chan struct{})}
			set := f.cursorFor(Pattern{Source: &fakeSource{}}).set
			for i, src := range c.patterns {
				p, err := match.Compile(src, "")
				if err != nil {
					t.Fatal(err)
				}
				set.Add(i+1, p, match.Options{})
			}
			f.GiveUp(&turn.Token{}, c.pressed)
			if f.late.isOver() {
				t.Fatal("given up at once")
			}
			took := false // Each search of a bomb takes lastLook in this test.
			struck := set.Struck
			set.Struck = func() { f.late.from = f.late.from.Add(-lastLook); took = true; struck() }
			_, hits := set.Step([]byte(strings.Repeat("a", 92) + " end\n"))
			if seen := len(hits) == 1 && hits[0].ID == len(c.patterns); seen != c.seen || !took {
				t.Errorf("the pattern behind them was asked: %v, want %v; one of them exploded: %v", seen, c.seen, took)
			}
		})
	}
}
