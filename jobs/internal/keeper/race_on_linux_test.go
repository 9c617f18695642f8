//go:build race

package keeper_test

// raced: the race detector maps more memory than a limit on it may leave, and its runtime ends
// a limiter that is built with it.
const raced = true
