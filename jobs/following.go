package jobs

import (
	"cmp"
	"slices"
	"time"

	"shelld.dev/shelld/jobs/internal/follow"
	"shelld.dev/shelld/jobs/internal/spool"
	"shelld.dev/shelld/jobs/internal/view"
)

// The waits own the job's follower (package follow), which searches the output for their patterns. It calls the methods
// of follow.Owner in its own goroutine or in a readLoop. Its results are handled in a turn.

type (
	hitsMsg struct {
		hits  []follow.Hit
		taken chan<- struct{} // has room
	}
	syncedMsg struct {
		tok    *token
		partly bool // it was hastened before all was matched
	}
)

// Hits implements follow.Owner.
func (p *waitsPart) Hits(hits []follow.Hit, taken chan<- struct{}) { p.j.ask(hitsMsg{hits, taken}) }

// Synced implements follow.Owner.
func (p *waitsPart) Synced(tok *token, partly bool) { p.j.ask(syncedMsg{tok, partly}) }

// Leans implements follow.Owner. The turn begins to probe whether the job waits for input.
func (p *waitsPart) Leans() { p.j.turns.attend() }

// Unreadable implements follow.Owner.
func (p *waitsPart) Unreadable(at int64, err error) error {
	return p.j.output.unreadable(at, err, "check the disk, then watch or wait again from a later offset")
}

// Name implements follow.Source.
func (s *stream) Name() string { return string(s.name) }

// Spool implements follow.Source.
func (s *stream) Spool() *spool.Spool { return s.spool }

// QuietFor returns for how long no output has come, counted from the job's start if there was none. It implements
// follow.Source.
func (s *stream) QuietFor() time.Duration {
	return time.Since(s.base) - time.Duration(s.last.Load())
}

// IsAll reports whether the job was seen to wait for input when it had printed the output before the offset. It
// implements follow.Source.
func (s *stream) IsAll(offset int64) bool {
	return s.waitedAt.Load() == offset+1 && s.holding.Load() < holdsShortly
}

// follow begins to search for a pattern, in the output or on the screen, and returns its key. from holds the first
// offset per stream.
func (p *waitsPart) follow(w *watch, from map[Stream]int64) int {
	p.keys++
	p.watches[p.keys] = w
	defer w.spec.letGo()
	if w.spec.Screen {
		p.display.lookFor(p.keys, &w.spec, w.screenAfter(from))
		return p.keys
	}
	f := p.j.output.follower.Load()
	if f == nil {
		f = follow.New(p)
		p.j.output.follower.Store(f)
	}
	for _, st := range p.j.output.streams {
		if w.spec.Stream == "" || w.spec.Stream == st.name {
			f.Add(follow.Pattern{Key: p.keys, Source: st, Pattern: w.spec.compiled, Raw: w.spec.Raw,
				Once: w.spec.Once || w.wait != nil, From: from[st.name], Typed: w.typed.on(st)})
		}
	}
	return p.keys
}

// unfollow ends the search for the pattern with this key. Key 0 means no pattern.
func (p *waitsPart) unfollow(key int) {
	if key == 0 {
		return
	}
	if w := p.watches[key]; w != nil && w.id > 0 {
		p.j.info.Watches = slices.DeleteFunc(slices.Clone(p.j.info.Watches), func(i WatchInfo) bool { return i.ID == w.id })
		p.j.publish()
	}
	if w := p.watches[key]; w != nil {
		w.room.giveBack()
	}
	delete(p.watches, key)
	p.display.lookNoMore(key)
	if f := p.j.output.follower.Load(); f != nil {
		f.Remove(key)
	}
}

// A followerHit is a result of the search in the output or on the screen: a match, or the reason why there will be
// none. One of match, removed and behind is set.
type followerHit struct {
	key     int
	stream  Stream
	match   *Match
	passed  int64   // matches of the pattern between the hit before and this one, which are not reported
	removed error   // why the pattern was removed
	behind  error   // the output that it had not seen when the job's end could not wait any longer
	place   *Place  // on the screen; nil: in the output
	shown   *Screen // the same
}

// onFound handles the follower's results in the output.
func (p *waitsPart) onFound(hits []follow.Hit) {
	for _, h := range hits {
		p.onHit(followerHit{key: h.Key, stream: Stream(h.Stream), match: h.Match, passed: h.Passed, removed: h.Removed, behind: h.Behind})
	}
}

// onHit reports a hit to its wait or client. Hits of removed watches are dropped.
func (p *waitsPart) onHit(h followerHit) {
	w := p.watches[h.key]
	switch {
	case w == nil:
	case w.wait != nil:
		w.wait.take(h, w.cond)
	case h.match == nil:
		p.unfollow(h.key)
		p.j.sink.Event(Event{After: p.j.barrier(), Removed: &WatchRemoved{w.id, cmp.Or(h.removed, h.behind).Error()}})
	default:
		if w.spec.Once {
			p.unfollow(h.key)
		}
		p.j.sink.Event(Event{
			After:   map[Stream]int64{h.stream: h.match.End},
			Matched: &Matched{w.id, h.stream, *h.match, h.place, h.passed},
		})
	}
}

// take records a hit for a condition. Only the first match of a condition counts.
func (w *wait) take(h followerHit, cond int) {
	switch {
	case h.behind != nil: // the wait ends with the job, as if there had been no match
	case h.match == nil:
		w.failed[cond] = true
	case w.matches[cond] == nil:
		w.matches[cond], w.streams[cond] = h.match, h.stream
		w.places[cond], w.shown = h.place, h.shown
	}
}

// onSynced ends the requests that wait until all output stored before them has been matched.
func (p *waitsPart) onSynced(tok *token, partly bool) {
	p.ending.onSettled(tok)
	if u, ok := p.unwatches[tok]; ok {
		delete(p.unwatches, tok)
		p.unfollow(u.key)
		u.reply.ok(struct{}{})
	}
	for _, w := range p.armed {
		if w.catchup == tok {
			w.catchup, w.partly = nil, w.partly || partly
		}
	}
}

// onShown handles the results of a glance at the screen.
func (p *waitsPart) onShown(shown []view.Hit) {
	for _, h := range shown {
		p.onHit(followerHit{key: h.Key, stream: PTY, match: h.Match, place: h.Place, shown: h.Shown, removed: h.Removed})
	}
}

// onUnseen handles the patterns that have not seen all of the screen.
func (p *waitsPart) onUnseen(keys []int, why error) {
	for _, key := range keys {
		p.onHit(followerHit{key: key, behind: why})
	}
}

// glanced notifies the waits and unwatch requests that wait for a glance.
func (p *waitsPart) glanced(number int) {
	for _, w := range p.armed {
		if w.glance <= number {
			w.glance = 0
		}
	}
	for tok, u := range p.unwatches {
		if u.glance != 0 && u.glance <= number {
			p.onSynced(tok, false)
		}
	}
}

func (p *waitsPart) onWatch(m watchMsg) {
	if len(p.j.output.streams) == 0 {
		m.reply.fail(Invalid(m.spec.Pointer, noStreams))
		return
	}
	if s := m.spec.Stream; s != "" && p.j.output.stream(s) == nil {
		m.reply.fail(Invalid(m.spec.sibling("stream"), "this job has no stream %q; it has %s", s, p.j.output.streamNames()))
		return
	}
	if err := m.spec.checkScreen(p.j.heard != nil); err != nil {
		m.reply.fail(err)
		return
	}
	from := p.j.barrier()
	if m.fromStart {
		from = nil
	}
	m.spec.room, m.reply.room = m.reply.room, nil // it belongs to the watch from now on
	m.reply.ok(p.addWatch(m.spec, from))
}

// addWatch adds a client's pattern and returns its number.
func (p *waitsPart) addWatch(spec WatchSpec, from map[Stream]int64) int {
	p.watchIDs++
	w := &watch{id: p.watchIDs, spec: spec, room: spec.room}
	spec.letGo()
	p.j.info.Watches = append(slices.Clone(p.j.info.Watches), WatchInfo{p.watchIDs, spec})
	p.follow(w, from)
	return p.watchIDs
}

// An unwatchReq waits until the follower has matched all output that is stored.
type unwatchReq struct {
	key    int
	reply  reply[struct{}]
	glance int // not 0: the pattern is on the screen, and the request waits for the glance of this number
}

func (p *waitsPart) onUnwatch(m unwatchMsg) {
	for key, w := range p.watches {
		if w.id == m.id && w.wait == nil {
			tok := new(token)
			if w.spec.Screen {
				p.unwatches[tok] = unwatchReq{key, m.reply, p.display.needGlance()}
				return
			}
			p.unwatches[tok] = unwatchReq{key, m.reply, 0}
			p.j.output.follower.Load().Sync(tok, []int{key}, false)
			return
		}
	}
	m.reply.fail(Invalid("/watchId", "job %d has no watch %d, or no longer; job/get lists its watches", p.j.id, m.id))
}

func (hitsMsg) message() {}

func (syncedMsg) message() {}

// screenAfter returns the offset that a screen must be past for a match to count; -1: none. Text that is on the screen
// already counts, unless the pattern is about later output.
func (w *watch) screenAfter(from map[Stream]int64) int64 {
	switch {
	case from == nil: // from the start on
		return -1
	case w.wait == nil:
		return from[PTY]
	}
	switch k := w.wait.spec.From.Kind; {
	case k == FromNow, k == FromOffset, k == FromDefault && w.wait.afterInput:
		return from[PTY]
	}
	return -1
}
