//go:build race

package keeper

// maxFaults counts the race detector's own memory as well, which is many times ours.
const maxFaults = 96 * 16
