//go:build race

package keeper

// maxFaults includes the race detector's own memory, which is many times ours.
const maxFaults = 96 * 16
