package follow

import "time"

// QuietTime is how long no output must have come before a match counts that more output could change (protocol
// section 4).
const QuietTime = 50 * time.Millisecond

// armQuiet counts the matches that more output could change, if their stream is quiet for long enough or is known to
// get no more output for now. It sets the timer for the other matches.
func (f *Follower) armQuiet() {
	next, leans := time.Hour, false
	for _, c := range f.cursors {
		if c.echo != nil && c.echo.Patience(QuietTime) > 0 {
			next = min(next, max(c.echo.Patience(QuietTime)-c.src.QuietFor(), 0))
		}
		if !c.set.Pending() || c.set.Offset() < c.end() {
			continue
		}
		left := QuietTime - c.src.QuietFor()
		if left > 0 && !c.src.IsAll(c.set.Offset()) {
			next, leans = min(next, left), true
			continue
		}
		f.report(c, c.set.Settle())
	}
	f.quiet.Reset(next)
	f.noteLeans(leans)
}

// noteLeans notifies the owner when there is such a match for the first time. The caller of OutputCame checks by
// itself.
func (f *Follower) noteLeans(leans bool) {
	if was := f.leaning.Swap(leans); leans && !was && !f.inline.on {
		f.owner.Leans()
	}
}
