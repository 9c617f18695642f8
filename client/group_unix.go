//go:build unix

package client

import "syscall"

// ownGroup keeps Ctrl-C in a terminal of this process from ending the server too: this process decides what it ends.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
