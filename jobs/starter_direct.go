//go:build linux || darwin || windows

package jobs

import (
	"shelld.dev/shelld/jobs/internal/direct"
	"shelld.dev/shelld/jobs/internal/keeper"
)

// directly is the starter for jobs without keepers.
type directly struct{ *direct.Pool }

func (p directly) Start(cmd keeper.Command) (process, error) {
	j, err := p.Pool.Start(cmd)
	if err != nil {
		return nil, err // A nil *Job in the interface would not equal nil.
	}
	return j, nil
}

func newDirectly(o Options) starter { return directly{direct.NewPool(o.Log)} }
