//go:build !race

package keeper

// maxFaults bounds what jobs may leave in the memory of a keeper that waits for the
// next one, in pages, together with what the first of them needs in any case. Nothing
// is collected below the limit in keeperEnv: the first collection alone takes 200 KiB
// for good, and a new keeper costs hardly more time than it.
const maxFaults = 96
