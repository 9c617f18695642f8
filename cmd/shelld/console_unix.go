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

// A console is our input, and our terminal if there is one.
type console struct {
	// Immutable:
	fd         int   // of our input; if it is not a terminal, it may be closed by now
	terminals  []int // those of our descriptors that are a terminal
	isTerminal bool  // our input is a terminal
	readable   bool  // our input may be read: it is not a terminal that another process group uses
	isNull     bool  // our input is the null device

	mu    sync.Mutex
	saved *term.State // modes of the terminal, saved while it is raw
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

// inForeground reports whether we may read a terminal and change its modes. A process in the background that does so is
// stopped by the kernel.
func inForeground(fd int) bool {
	group, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP)
	return err != nil || group == unix.Getpgrp() // An error means that the terminal has no foreground process group.
}

// answers reports whether our terminal shows the queries that the job's programs send to theirs, and sends us the
// answers.
func (c *console) answers() bool {
	return c.isTerminal && c.readable && slices.Contains(c.terminals, int(os.Stdout.Fd()))
}

// raw passes every key through to the job's terminal, which has modes of its own. Without a terminal, or in its
// background, raw does nothing.
func (c *console) raw() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.isTerminal || !c.readable || c.saved != nil || !inForeground(c.fd) {
		return nil
	}
	saved, err := term.MakeRaw(c.fd)
	if err != nil {
		return fmt.Errorf("the terminal cannot be set to raw mode: %w", err)
	}
	c.saved = saved
	return nil
}

// restore restores the modes of the terminal.
func (c *console) restore() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.saved == nil || !inForeground(c.fd) {
		return
	}
	_ = term.Restore(c.fd, c.saved) // It fails only if the terminal is gone.
	c.saved = nil
}

func (c *console) isRaw() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.saved != nil
}

// size returns the size of the terminal that we read from or write to.
func (c *console) size() (cols, rows int, ok bool) {
	for _, fd := range c.terminals {
		cols, rows, err := term.GetSize(fd)
		if err == nil && cols > 0 && rows > 0 {
			return cols, rows, true
		}
	}
	return 0, 0, false
}
