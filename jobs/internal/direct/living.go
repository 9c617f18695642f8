//go:build linux || darwin

package direct

import "shelld.dev/shelld/jobs/internal/keeper"

// Living lists the living processes of the job, at most keeper.MaxProcs, as far as they can be found. It returns false
// if the job is over, or the list cannot be read.
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
	list = <-answer // A request is carried out even if the job is over by then.
	return list, known
}
