package jobs

// A job that is forgotten, because a client removes it or enough others have closed
// since, takes no more requests. Those that came before are answered first: reading a
// disk and matching what is stored go on beside the loop, and a client that asks for
// output and then removes the job gets its output.

// leaveWith has the loop end once nothing of what was asked is pending, and calls then.
func (a *actor) leaveWith(then func()) {
	if a.leaving == nil {
		a.leaving = then
	}
}

// reviewLeave ends the loop of a job that is forgotten, when it is time.
func (a *actor) reviewLeave() {
	if a.leaving != nil {
		a.quit.Store(a.j.owed() == 0)
	}
}

// left does what was to be done when the job has left.
func (a *actor) left() {
	if then := a.leaving; then != nil {
		a.leaving = nil
		then()
	}
}
