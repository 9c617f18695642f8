package jobs

import (
	"os"

	"shelld/jobs/internal/inputwait"
	"shelld/jobs/internal/proc"
)

// kept is a process that has a keeper.
type kept interface{ Process() int }

// newLooker looks at a job by its input.
func newLooker(p process, t inputwait.Target) looker {
	t.Leader = p.PID()
	if k, ok := p.(kept); ok {
		t.Root = k.Process()
	}
	return inputwait.New(t)
}

// pipeInput is the job's stdin where the server writes it, beside its outputs; nil where it
// does not.
func (c *stdio) pipeInput() *proc.PipeInput {
	sink, ok := c.input.(*proc.Sink)
	if !ok || sink == nil {
		return nil
	}
	var sources []*proc.Source
	for _, o := range c.outputs {
		if s, ok := o.src.(*proc.Source); ok {
			sources = append(sources, s)
		}
	}
	return proc.NewPipeInput(sink, sources...)
}

// InputDetection is the best that can be known here of a job that waits for input, and what
// that rests on, or why it is no better. It looks at a keeper, as at a job's process; where
// there is none yet, at this process.
func (m *Manager) InputDetection() (tier Confidence, why string) {
	pid := os.Getpid()
	if s, ok := m.system.keepers.(interface{ SomeKeeper() int }); ok {
		if k := s.SomeKeeper(); k != 0 {
			pid = k
		}
	}
	return inputwait.Examine(pid)
}
