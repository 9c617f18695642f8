//go:build !race

package match

// slowdown is the factor by which time limits are longer in this build.
const slowdown = 1
