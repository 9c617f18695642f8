package proc

// A FileID identifies an open file: by its device and inode and, for a device file such as a terminal, by the device
// that it stands for (Rdev). It is an alias, so that packages that do not import each other can share it.
type FileID = struct{ Dev, Ino, Rdev uint64 }

// Modes returns the two modes that show how a program reads typed input.
func (t *Terminal) Modes() (canonical, echo bool, err error) {
	a, err := t.Attrs()
	return a.Canonical, a.Echo, err
}

// OutputIdle reports whether all output that the job has printed has been read and stored. It returns false if that is
// not known. Any goroutine may call it.
func (t *Terminal) OutputIdle() bool { return t.source.settled() }

// A PipeInput is the stdin of a job on pipes, for probes of whether the job waits for input. Its methods may be called
// from any goroutine.
type PipeInput struct {
	sink    *Sink
	sources []*Source
}

// NewPipeInput returns a PipeInput for the pipe that sink writes to. The job prints to sources.
func NewPipeInput(sink *Sink, sources ...*Source) *PipeInput {
	return &PipeInput{sink, sources}
}

// OutputIdle reports whether all output that the job has printed has been read and stored, including output that was
// printed before the other end was closed. It returns false if that is not known.
func (p *PipeInput) OutputIdle() bool {
	for _, s := range p.sources {
		if !s.settled() {
			return false
		}
	}
	return true
}
