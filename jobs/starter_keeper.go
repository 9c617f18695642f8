//go:build !darwin && !windows

package jobs

import "shelld/jobs/internal/keeper"

// keepers is the starter where jobs have keepers, and where there are no jobs: then
// each start fails.
type keepers struct{ *keeper.Pool }

func (p keepers) Start(cmd keeper.Command) (process, error) {
	k, err := p.Pool.Start(cmd)
	if err != nil {
		return nil, err // A nil *Keeper would be a process.
	}
	return k, nil
}

func newKeepers(o Options) starter {
	return keepers{keeper.NewPool(keeper.PoolOptions{Log: o.Log})}
}
