//go:build race

package screen

// slowdown is the factor by which time limits are longer in this build.
const slowdown = 20
