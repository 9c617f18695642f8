//go:build linux || darwin

package direct

import "shelld/jobs/internal/keeper"

// Living lists what is alive of the job now, at most keeper.MaxProcs, as far as it can be
// found. It returns false where the job is over, or the list cannot be read.
func (j *Job) Living() (list []keeper.Proc, ok bool) {
	known := false
	answer := make(chan []keeper.Proc, 1)
	look := func() {
		j.look()
		var all []keeper.Proc
		for _, p := range j.living[:min(len(j.living), keeper.MaxProcs)] {
			all = append(all, j.describe(p))
		}
		known = j.unread == nil
		answer <- all
	}
	if !j.ask(look) {
		return nil, false
	}
	list = <-answer // What was asked is done, also where the job is over by then.
	return list, known
}
