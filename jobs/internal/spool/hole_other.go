//go:build !linux

package spool

func (o *output) hasHole() bool { return false }
