//go:build unix

package main

import (
	"fmt"
	"os"
	"slices"
	"sync"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// A console is where our own input comes from, and our terminal, where we have one.
type console struct {
	// Immutable:
	fd         int   // of our input, which may be closed by now if it is no terminal
	terminals  []int // of our descriptors, those that are one
	isTerminal bool  // our input is one
	readable   bool  // our input may be read: it is no terminal that others have
	isNull     bool  // there is nothing to be read

	mu    sync.Mutex
	saved *term.State // while the terminal is raw
}

func newConsole() *console {
	c := &console{fd: int(os.Stdin.Fd()), isNull: isNull(os.Stdin)}
	for _, f := range []*os.File{os.Stdin, os.Stdout, os.Stderr} {
		if fd := int(f.Fd()); term.IsTerminal(fd) {
			c.terminals = append(c.terminals, fd)
		}
	}
	c.isTerminal = slices.Contains(c.terminals, c.fd)
	c.readable = !c.isTerminal || inForeground(c.fd)
	return c
}

func isNull(f *os.File) bool {
	null, err := os.Stat(os.DevNull)
	if err != nil {
		return false
	}
	fi, err := f.Stat()
	return err == nil && os.SameFile(fi, null)
}

// inForeground says whether we may read a terminal and change its modes. Whoever does
// so in the background is stopped.
func inForeground(fd int) bool {
	group, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP)
	return err != nil || group == unix.Getpgrp() // An error: it is nobody's.
}

// answers says whether our terminal is shown what the job's programs ask theirs, and
// types the answers to us.
func (c *console) answers() bool {
	return c.isTerminal && c.readable && slices.Contains(c.terminals, int(os.Stdout.Fd()))
}

// raw lets every key through to the job's terminal, which has modes of its own. Without
// a terminal, or in its background, nothing is done.
func (c *console) raw() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.isTerminal || !c.readable || c.saved != nil || !inForeground(c.fd) {
		return nil
	}
	saved, err := term.MakeRaw(c.fd)
	if err != nil {
		return fmt.Errorf("our terminal cannot be made raw: %w", err)
	}
	c.saved = saved
	return nil
}

// restore gives the terminal its modes back.
func (c *console) restore() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.saved == nil || !inForeground(c.fd) {
		return
	}
	_ = term.Restore(c.fd, c.saved) // It fails only where the terminal is gone.
	c.saved = nil
}

func (c *console) isRaw() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.saved != nil
}

// size is that of the terminal that we read, or write to.
func (c *console) size() (cols, rows int, ok bool) {
	for _, fd := range c.terminals {
		cols, rows, err := term.GetSize(fd)
		if err == nil && cols > 0 && rows > 0 {
			return cols, rows, true
		}
	}
	return 0, 0, false
}
