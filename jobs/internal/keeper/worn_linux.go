//go:build !race

package keeper

// maxFaults is the maximum garbage that jobs may leave in the memory of a keeper that waits for the next one, in pages,
// including the memory that the first job needs in any case. Nothing is collected below the limit in keeperEnv: the
// first collection alone takes 200 KiB permanently, and a new keeper takes hardly more time.
const maxFaults = 96
