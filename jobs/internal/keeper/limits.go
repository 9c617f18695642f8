package keeper

import "time"

// Limits are the resource limits of a job. Zero means that there is no limit.
type Limits struct {
	// OpenFiles is the maximum number of descriptors of each process.
	OpenFiles int64
	// Memory is the maximum number of bytes of private memory that each process may write to: its data, heap and
	// anonymous mappings. Mappings without write permission, which runtimes use by the gigabyte, are not counted, and
	// neither is shared memory.
	Memory int64
	// CPU is the processor time of each process, in whole seconds. When it is used up, the kernel sends XCPU, and KILL
	// a second later.
	CPU time.Duration
	// Processes is the maximum number of processes of the whole job that are alive at a time. The keeper counts them,
	// because the kernel's own limit is per user. Processes that come and go between two counts are not seen.
	Processes int64
}

// byKernel reports whether the kernel must enforce any of the limits.
func (l Limits) byKernel() bool { return l.OpenFiles > 0 || l.Memory > 0 || l.CPU > 0 }

// The limits that an Event can report as exceeded.
const (
	LimitCPU       = "cpu"
	LimitProcesses = "processes"
)

func appendLimits(b []byte, l Limits) []byte {
	for _, n := range []int64{l.OpenFiles, l.Memory, int64(l.CPU / time.Second), l.Processes} {
		b = appendInt(b, int(n))
	}
	return b
}

func (d *decoder) limits() Limits {
	return Limits{OpenFiles: d.int64(), Memory: d.int64(), CPU: time.Duration(d.int64()) * time.Second, Processes: d.int64()}
}
