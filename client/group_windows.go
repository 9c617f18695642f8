package client

import "syscall"

// ownGroup keeps Ctrl-C in a console of this process from ending the server too: this process decides what it ends.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}
