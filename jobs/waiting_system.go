package jobs

import (
	"os"

	"shelld/jobs/internal/inputwait"
	"shelld/jobs/internal/proc"
)

// kept is a process that has a keeper.
type kept interface{ Process() int }

// newLooker returns a looker that probes the job of p by its input t.
func newLooker(p process, t inputwait.Target) looker {
	t.Leader = p.PID()
	if k, ok := p.(kept); ok {
		t.Root = k.Process()
	}
	return inputwait.New(t)
}

// pipeInput returns the stdin of the job together with its outputs; nil if the server does not write to the
// stdin.
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

// InputDetection returns the highest confidence that input detection can reach on this system, and the reason
// for it. It examines a keeper, as it would the process of a job; if there is no keeper yet, it examines the
// process of the server.
func (m *services) InputDetection() (tier Confidence, why string) {
	pid := os.Getpid()
	if s, ok := m.system.keepers.(interface{ SomeKeeper() int }); ok {
		if k := s.SomeKeeper(); k != 0 {
			pid = k
		}
	}
	return inputwait.Examine(pid)
}
