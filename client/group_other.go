//go:build !unix && !windows

package client

import "syscall"

func ownGroup() *syscall.SysProcAttr { return nil }
