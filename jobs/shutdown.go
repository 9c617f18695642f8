package jobs

import (
	"errors"
	"slices"
	"time"

	"shelld.dev/shelld/jobs/internal/keeper"
)

// Shutdown ends every job: TERM, the grace, KILL. It returns when no process of a job is alive, or when it has given up
// on a job that takes longer. The processes of such a job end with its keeper, which needs no help for that. Shutdown
// completes the files of jobs, as far as the disk is fast enough.
func (m *Manager) Shutdown() {
	m.registry.mu.Lock()
	if !isClosed(m.end.begun) {
		close(m.end.begun)
	}
	grace := m.settings.limits.ShutdownGrace
	m.registry.mu.Unlock()
	all := m.All()
	for _, j := range all {
		j.post(shutdownMsg{grace})
	}
	vacant := func(j *Job) <-chan struct{} { return j.vacant }
	if !within(grace+shutdownSlack, all, vacant) {
		m.giveUp(all)
		within(shutdownSlack, all, vacant)
	}
	m.endInquiries(grace + shutdownSlack)
	all = slices.DeleteFunc(all, func(j *Job) bool { return !isClosed(j.vacant) })
	if !within(shutdownFiles, all, func(j *Job) <-chan struct{} { return j.ended }) {
		m.log.Warn("the server exits before all output files are complete: the disk is too slow")
	}
}

const (
	// shutdownFiles is the maximum time by which the completion of files may delay the server's end.
	shutdownFiles = 5 * time.Second
)

// within reports whether the selected channels of all jobs close within d.
func within(d time.Duration, all []*Job, what func(*Job) <-chan struct{}) bool {
	late := time.NewTimer(d)
	defer late.Stop()
	for _, j := range all {
		select {
		case <-what(j):
		case <-late.C:
			return false
		}
	}
	return true
}

// giveUp kills the remaining processes without the help of the job loops, one of which may be stuck.
func (m *Manager) giveUp(all []*Job) {
	for _, j := range all {
		if h := j.process.Load(); h != nil {
			m.log.Debug("killing the job directly: its loop did not end in time", "job", j.id)
			_ = h.Kill(keeper.KillOptions{}) // Best effort: the keeper's own end is next.
		}
	}
}

// Close releases everything, after Shutdown. It does not wait for a stuck job or a stuck disk. A slow disk has
// closeTime.
func (m *Manager) Close() error {
	var stuck []error
	left := m.awaitEnds()
	for _, j := range m.All() {
		switch {
		case !left[j]:
		case isClosed(j.done):
			stuck = append(stuck, errors.New("jobs: a goroutine that handles the output of a job is stuck"))
		default:
			stuck = append(stuck, errors.New("jobs: the loop of a job is stuck"))
		}
	}
	if left[nil] {
		stuck = append(stuck, errors.New("jobs: a helper program of the server does not end"))
	}
	if m.settings.archive != nil && !m.settings.archive.close() {
		stuck = append(stuck, errors.New("jobs: closing the output directory is stuck"))
	}
	if m.system.keepers != nil {
		m.system.keepers.Close()
	}
	closeDirectories(m.settings.allowed)
	return errors.Join(stuck...)
}

// awaitEnds stops the loops of all jobs. It returns the jobs whose loop or other goroutines are still running once no
// job has ended for shutdownSlack, or once shutdownFiles is over: on a busy machine, many end late, one after the
// other. In the result, nil stands for the helper programs of the server.
func (m *Manager) awaitEnds() (left map[*Job]bool) {
	all := m.All()
	left = map[*Job]bool{nil: true}
	ended := make(chan *Job, len(all)+1) // The buffer keeps a late goroutine from blocking.
	for _, j := range all {
		left[j] = true
		j.post(quitMsg{})
		go func() {
			<-j.done
			j.output.loops.Wait()
			ended <- j
		}()
	}
	go func() {
		m.end.inquiries.Wait()
		ended <- nil
	}()
	late, over := time.NewTimer(shutdownSlack), time.NewTimer(shutdownFiles)
	defer late.Stop()
	defer over.Stop()
	for len(left) > 0 {
		select {
		case j := <-ended:
			delete(left, j)
			late.Reset(shutdownSlack)
		case <-over.C:
			return left
		case <-late.C:
			if len(ended) == 0 { // else the timer fired only because the machine is busy
				return left
			}
		}
	}
	return left
}
