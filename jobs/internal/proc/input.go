package proc

// A FileID tells one open file from all others: its device and inode, and for a
// device, such as a terminal, which one. It is an alias, so that packages that do not
// know each other agree on it.
type FileID = struct{ Dev, Ino, Rdev uint64 }

// Modes are the two that say how a program reads what is typed.
func (t *Terminal) Modes() (canonical, echo bool, err error) {
	a, err := t.Attrs()
	return a.Canonical, a.Echo, err
}

// OutputIdle says whether all that the job has printed was read and stored. Any
// goroutine may ask. Where it is not known, it returns false.
func (t *Terminal) OutputIdle() bool { return t.source.settled() }

// A PipeInput is the stdin of a job on pipes, as one who asks whether the job waits for
// it sees it. Its methods may be called from any goroutine.
type PipeInput struct {
	sink    *Sink
	sources []*Source
}

// NewPipeInput is about what sink writes, for a job that prints to sources.
func NewPipeInput(sink *Sink, sources ...*Source) *PipeInput {
	return &PipeInput{sink, sources}
}

// OutputIdle says whether all that the job has printed was read and stored; what was
// printed before the other end was closed counts as well. Where it is not known, it
// returns false.
func (p *PipeInput) OutputIdle() bool {
	for _, s := range p.sources {
		if !s.settled() {
			return false
		}
	}
	return true
}
