package jobs

import (
	"errors"
	"testing"
	"testing/synctest"
)

// A subscription takes effect in a turn, and gets the present offsets of the output.
func TestSubscribeTakesItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFake(t, &recorder{})
		f.out.data <- []byte("abcdef")
		synctest.Wait()
		for _, c := range []struct {
			name string
			from Origin
			want int64 // -1: left open
		}{
			{"left open", Origin{}, -1},
			{"start", Origin{Kind: FromStart}, 0},
			{"now", Origin{Kind: FromNow}, 6},
			{"offset", Origin{Kind: FromOffset, Offsets: map[Stream]int64{"": 3}}, 3},
			{"beyond the end", Origin{Kind: FromOffset, Offsets: map[Stream]int64{PTY: 10}}, 10},
		} {
			called := 0
			must(t, f.Subscribe(c.from, func(info Info, from map[Stream]int64) (bool, error) {
				called++
				if info.Handle != f.ID() || info.Streams[0].NextOffset != 6 {
					t.Errorf("%s: info %+v", c.name, info)
				}
				if at, ok := from[PTY]; ok != (c.want >= 0) || ok && at != c.want {
					t.Errorf("%s: from %v, want %d", c.name, from, c.want)
				}
				return false, nil
			}))
			if called != 1 {
				t.Errorf("%s: called %d times", c.name, called)
			}
		}
		f.end()
	})
}

// A refused subscription changes nothing. One that comes too late is answered.
func TestSubscribeIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFake(t, &recorder{})
		never := func(Info, map[Stream]int64) (bool, error) { t.Error("called"); return false, nil }
		e := refused(t, f.Subscribe(Origin{Kind: FromOffset, Pointer: "/from", Offsets: map[Stream]int64{Stderr: 3}}, never), CodeInvalidParams)
		if e.Pointer != "/from/stderr" {
			t.Errorf("pointer %q", e.Pointer)
		}
		sorry := errors.New("sorry")
		if r := <-f.Subscribe(Origin{}, func(Info, map[Stream]int64) (bool, error) { return false, sorry }).C; r.Err != sorry {
			t.Errorf("error %v", r.Err)
		}
		if f.Sink() != Sink(f.sink) {
			t.Error("the sink is another")
		}
		f.end()
		refused(t, f.Subscribe(Origin{}, never), CodeJobNotFound)
	})
}
