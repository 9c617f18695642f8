package direct

import (
	"path/filepath"
	"sync"
	"unsafe"

	"golang.org/x/sys/windows"

	"shelld.dev/shelld/jobs/internal/keeper"
)

// killedCode is the status of a process ended by force, as with taskkill.
const killedCode = 1

// A jobObject is a job object of the kernel. It has only this handle, which is not inherited: when the handle is
// closed, also by the server's own sudden end, the kernel ends all processes in the object.
type jobObject struct {
	handle windows.Handle
	once   sync.Once
}

// An associatedPort is JOBOBJECT_ASSOCIATE_COMPLETION_PORT.
type associatedPort struct {
	key  uintptr
	port windows.Handle
}

// newJobObject makes an object whose port is notified, with number, when no process is left in it.
func newJobObject(port windows.Handle, number uintptr) (*jobObject, error) {
	handle, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return nil, err
	}
	o := &jobObject{handle: handle}
	var limits windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	// No process may leave it, because no flag allows that. A crash ends a program without a window that waits for a
	// user to close it.
	limits.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE | windows.JOB_OBJECT_LIMIT_DIE_ON_UNHANDLED_EXCEPTION
	_, err = windows.SetInformationJobObject(handle, windows.JobObjectExtendedLimitInformation, uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits)))
	if err == nil {
		tell := associatedPort{number, port}
		_, err = windows.SetInformationJobObject(handle, windows.JobObjectAssociateCompletionPortInformation, uintptr(unsafe.Pointer(&tell)), uint32(unsafe.Sizeof(tell)))
	}
	if err != nil {
		o.close()
		return nil, err
	}
	return o, nil
}

func (o *jobObject) terminate() error { return windows.TerminateJobObject(o.handle, killedCode) }

func (o *jobObject) close() {
	o.once.Do(func() { _ = windows.CloseHandle(o.handle) }) // Nothing is written by it.
}

// A processIDList is JOBOBJECT_BASIC_PROCESS_ID_LIST.
type processIDList struct {
	assigned, listed uint32
	ids              [keeper.MaxProcs]uintptr
}

func (o *jobObject) members() ([]keeper.Proc, error) {
	list := new(processIDList)
	err := windows.QueryInformationJobObject(o.handle, windows.JobObjectBasicProcessIdList, uintptr(unsafe.Pointer(list)), uint32(unsafe.Sizeof(*list)), nil)
	if err != nil && err != windows.ERROR_MORE_DATA { // Then the list is as long as allowed.
		return nil, err
	}
	var all []keeper.Proc
	for _, id := range list.ids[:min(list.listed, keeper.MaxProcs)] {
		name := imageName(uint32(id))
		all = append(all, keeper.Proc{PID: int(id), Comm: name, Command: "[" + name + "]"})
	}
	return all, nil
}

// imageName returns the name of the file that a process runs. A command line cannot be read without reading the
// process's memory.
func imageName(pid uint32) string {
	process, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, pid)
	if err != nil {
		return "?"
	}
	defer func() { _ = windows.CloseHandle(process) }() // Nothing is written by it.
	buf := make([]uint16, windows.MAX_LONG_PATH)
	size := uint32(len(buf))
	if err := windows.QueryFullProcessImageName(process, 0, &buf[0], &size); err != nil {
		return "?"
	}
	return filepath.Base(windows.UTF16ToString(buf[:size]))
}
