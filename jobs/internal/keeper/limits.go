package keeper

import "time"

// Limits bound what a job may take. Zero means that there is no limit.
type Limits struct {
	// OpenFiles is how many descriptors each process may have.
	OpenFiles int64
	// Memory is how many bytes of private memory each process may write to: its data,
	// heap and anonymous mappings. What it maps without the right to write is not
	// counted, which runtimes do by the gigabyte, and neither is shared memory.
	Memory int64
	// CPU is the processor time of each process, in whole seconds. The kernel sends
	// XCPU then, and KILL a second later.
	CPU time.Duration
	// Processes is how many processes of the whole job may be alive at a time. The
	// keeper counts them: the kernel's own limit is one of the user. Those that come
	// and go between two looks are not seen.
	Processes int64
}

// byKernel says whether the kernel has to be told of any.
func (l Limits) byKernel() bool { return l.OpenFiles > 0 || l.Memory > 0 || l.CPU > 0 }

// What an Event says of a limit that the job went beyond.
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
