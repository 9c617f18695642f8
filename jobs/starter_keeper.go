//go:build !darwin && !windows

package jobs

import "shelld.dev/shelld/jobs/internal/keeper"

// keepers is the starter for jobs with keepers. It is also the starter on systems that cannot run jobs: each start
// fails there.
type keepers struct{ *keeper.Pool }

func (p keepers) Start(cmd keeper.Command) (process, error) {
	k, err := p.Pool.Start(cmd)
	if err != nil {
		return nil, err // A nil *Keeper in the interface would not equal nil.
	}
	return k, nil
}

func newKeepers(o Options) starter {
	return keepers{keeper.NewPool(keeper.PoolOptions{Log: o.Log})}
}
