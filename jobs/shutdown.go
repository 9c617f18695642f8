package jobs

import (
	"errors"
	"slices"
	"sync"
	"time"

	"shelld/jobs/internal/keeper"
)

// A serverEnd is how the end of the server is told, and what it waits for besides jobs.
type serverEnd struct {
	begun     chan struct{}  // closed by Shutdown, under the registry's mu
	inquiries sync.WaitGroup // what the server runs for itself; nothing is added once begun is closed
}

// Shutdown ends every job: TERM, the grace, KILL. It returns when nothing of them
// is alive, or when a job that takes longer has been given up on; what that job
// started ends with its keeper, which needs nobody's help. Files are completed, as
// far as their disk takes them in time.
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
		m.log.Warn("the server ends before all output files are in order: the disk is too slow")
	}
}

const (
	// shutdownSlack is how long after the grace a job may take to say that it is gone.
	shutdownSlack = 500 * time.Millisecond
	// shutdownFiles is how long putting files in order may hold up the server's end.
	shutdownFiles = 5 * time.Second
)

// within says whether something closes for all jobs in time.
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

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// giveUp ends what is left without asking the loops, one of which may be stuck.
func (m *Manager) giveUp(all []*Job) {
	for _, j := range all {
		if h := j.process.Load(); h != nil {
			m.log.Debug("the job is killed without its loop, which has not ended in time", "job", j.id)
			_ = h.Kill(keeper.KillOptions{}) // Best effort: the keeper's own end is next.
		}
	}
}

// Close lets go of everything, after Shutdown. It does not wait for a stuck job, nor
// for a stuck disk; a slow one has closeTime.
func (m *Manager) Close() error {
	var stuck []error
	left := m.awaitEnds()
	for _, j := range m.All() {
		switch {
		case !left[j]:
		case isClosed(j.done):
			stuck = append(stuck, errors.New("jobs: what serves the output of a job is stuck"))
		default:
			stuck = append(stuck, errors.New("jobs: the loop of a job is stuck"))
		}
	}
	if left[nil] {
		stuck = append(stuck, errors.New("jobs: what the server has run for itself does not end"))
	}
	if m.settings.archive != nil && !m.settings.archive.close() {
		stuck = append(stuck, errors.New("jobs: the directory of the output is stuck"))
	}
	if m.system.keepers != nil {
		m.system.keepers.Close()
	}
	closeDirectories(m.settings.allowed)
	return errors.Join(stuck...)
}

// awaitEnds has the loops of all jobs end, and returns those that have not, or what serves them has not, when
// nothing had ended for shutdownSlack, or when shutdownFiles were over: on a busy machine much ends late, and one after
// the other. nil stands for what the server has run for itself.
func (m *Manager) awaitEnds() (left map[*Job]bool) {
	all := m.All()
	left = map[*Job]bool{nil: true}
	ended := make(chan *Job, len(all)+1) // Who ends too late waits for nobody.
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
			if len(ended) == 0 { // else it is the busy machine that has us late
				return left
			}
		}
	}
	return left
}
