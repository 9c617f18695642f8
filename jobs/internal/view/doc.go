// Package view draws the screen of one terminal on demand, from its stored output. It knows the output, the sizes, the
// pending queries and the titles of that terminal ([Source]), but no job and no client.
//
// Nothing is drawn before the first call of [View.Show], [View.Poll] or [View.Answer]. Each of them draws, in the
// caller's goroutine, from where the last one left off. A call that comes far behind the output skips most of it, and
// the work of a call is bounded (draw.go). If the terminal is closed, its cells are released (release.go).
package view
