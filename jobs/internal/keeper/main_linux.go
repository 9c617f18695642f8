package keeper

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	// processName is the keeper's argv[0] and comm. It differs from the server's,
	// so that a pkill by the server's name does not hit both.
	processName = "shelld-keeper"
	socketFD    = 3

	// serverDeathGrace is the grace period of a job whose server is gone.
	serverDeathGrace = 250 * time.Millisecond
)

// isKeeper reports whether this process was started as a keeper.
func isKeeper() bool {
	if len(os.Args) != 1 || os.Args[0] != processName {
		return false
	}
	kind, err := unix.GetsockoptInt(socketFD, unix.SOL_SOCKET, unix.SO_TYPE)
	return err == nil && kind == unix.SOCK_SEQPACKET
}

// The keeper runs in here, and never returns: the other imports of main would be initialised for nothing, at a cost in
// time and in memory (the tables of a validator and of regular expressions, a megabyte). All imports of this package
// are initialised. Only here is code sure to run on the main thread, which lives as long as the process: the runtime
// locks it for init. Locking it as well would start the thread that starts threads for locked ones.
func init() {
	if !isKeeper() {
		return
	}
	// ForkExec passed the socket on without the flag: a job that inherits the socket could command its keeper, and hide
	// the keeper's end from the server.
	unix.CloseOnExec(socketFD)
	closeInherited()
	k := &keeper{self: os.Getpid()}
	keeperSelf = k.self
	if err := k.prepare(); err != nil {
		unix.Exit(1)
	}
	k.serve()
	unix.Exit(0)
}

// closeInherited closes the descriptors that the server inherited, and that this process inherited from it: neither the
// keeper nor the job has any use for them, and holding the end of another program's pipe does harm. All descriptors
// that came through an exec lack the close-on-exec flag, which all of our own have.
func closeInherited() {
	open, _ := names("/proc/self/fd", 1<<16) // Without it a job may hold the end of another program's pipe.
	for _, name := range open {
		fd, err := strconv.Atoi(name)
		if err != nil || fd <= socketFD {
			continue
		}
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			_ = unix.Close(fd) // It fails for the directory that was being read.
		}
	}
}

// A keeper is the state of a keeper process.
type keeper struct {
	// Immutable:
	self   int      // own pid
	born   heritage // as the server has set it
	faults int64    // page faults before the first job
	kids   *ownChildren

	// mu is the reap lock: while it is held, no child's pid is reused. It guards all fields below, and the sending of
	// messages.
	mu         sync.Mutex
	serverGone bool
	scratch    [4096]byte
	job
}

// A job is the keeper's state of the job that it serves.
type job struct {
	number int // as the server numbers the jobs of this keeper; 0: there is none

	// Immutable once the command runs:
	leader int      // the command's pid
	tty    int      // the job's terminal, held open for the whole job; or -1
	marks  []string // the links in /proc/PID/fd of a process that holds the job's output
	limits Limits   // of the job

	leaderGone bool    // the command was reaped
	stopped    bool    // the command was reported as stopped
	op         *killOp // the kill operation in progress, or nil
	blow       blow    // of the first kill operation
	last       bool    // there is no next job
}

// prepare makes this process ready to start a job.
func (k *keeper) prepare() error {
	setComm(processName)
	if err := dropSignals(caught[:]); err != nil {
		return err
	}
	// A job that stopped its keeper must not survive the server by that: CONT comes when the server dies, and then the
	// keeper sees the end of the socket.
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGCONT), 0, 0, 0); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return err
	}
	// A signal that was blocked in the server's parent is blocked here, and would be blocked in every job. The fork
	// copies this thread's mask.
	if err := unix.PthreadSigmask(unix.SIG_SETMASK, &unix.Sigset_t{}, nil); err != nil {
		return err
	}
	k.kids = openOwnChildren()
	k.job = job{tty: -1}
	k.born = inherited(k.self, k.scratch[:])
	// Up to here one processor was enough, and each has its own stock of memory. Two are needed from the first job on:
	// the keeper waits in two system calls, and with one processor the runtime may take 10 ms to notice that either has
	// returned.
	runtime.GOMAXPROCS(2)
	k.faults = pageFaults()
	return nil
}

// setComm sets the name of the process, which would otherwise be exe after its file.
func setComm(name string) {
	text := append([]byte(name), 0)
	_ = unix.Prctl(unix.PR_SET_NAME, uintptr(unsafe.Pointer(&text[0])), 0, 0, 0) // Best effort.
	runtime.KeepAlive(text)
}

// caught are the signals that end or stop a process by default, except those that cannot be caught, those that report
// an error in the program, SIGPROF, which the runtime uses, and the real-time ones. Ignoring them would be simpler, but
// an ignored signal stays ignored in the command through execve. A caught signal is reset, but only by execve: a signal
// between the fork and the execve is dropped too. For the same reason signals are caught that may have been inherited
// as ignored.
var caught = [...]unix.Signal{
	unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGUSR1, unix.SIGUSR2, unix.SIGPIPE,
	unix.SIGALRM, unix.SIGVTALRM, unix.SIGIO, unix.SIGPWR, unix.SIGSTKFLT, unix.SIGXCPU, unix.SIGXFSZ,
	unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU, unix.SIGCONT,
}

// serve handles messages until the server closes the socket, and then ends the job. It returns only if there is no job.
func (k *keeper) serve() {
	buf := make([]byte, maxPacket)
	oob := make([]byte, unix.CmsgSpace(8*4))
	for {
		packet, fds, err := receive(buf, oob)
		if err != nil || len(packet) == 0 {
			break
		}
		// The server's messages are far shorter than a packet.
		if !k.onMessage(packet[1:], fds) {
			return
		}
	}
	k.mu.Lock()
	if k.number == 0 {
		return
	}
	k.serverGone = true
	k.kill(KillOptions{Grace: serverDeathGrace, Hangup: k.tty >= 0})
	k.mu.Unlock()
	select {} // reap exits when no process is left.
}

// onMessage handles one message. It returns false if this keeper is of no more use.
func (k *keeper) onMessage(message []byte, fds []int) bool {
	d := decoder{b: message}
	op, number := d.byte(), d.int()
	if op == opStart {
		flags := d.int()
		return k.onStart(number, flags, d.b, fds)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if number != k.number {
		return true // It was sent before the server knew that the job is over.
	}
	switch op {
	case opKill:
		k.kill(d.killOptions())
	case opSignal:
		seq, target, sig := d.int(), Target(d.int()), syscall.Signal(d.int())
		k.onSignal(seq, target, sig)
	}
	return true
}

// receive reads one packet and the descriptors that came with it.
func receive(buf, oob []byte) (packet []byte, fds []int, err error) {
	for {
		n, oobn, _, _, err := unix.Recvmsg(socketFD, buf, oob, unix.MSG_CMSG_CLOEXEC)
		if err == unix.EINTR {
			continue
		}
		if err != nil { // ECONNRESET: the server ended with unread events
			return nil, nil, err
		}
		messages, err := unix.ParseSocketControlMessage(oob[:oobn])
		if err != nil {
			return nil, nil, err
		}
		for _, m := range messages {
			got, err := unix.ParseUnixRights(&m)
			if err != nil {
				return nil, nil, err
			}
			fds = append(fds, got...)
		}
		return buf[:n], fds, nil
	}
}

// send sends one message to the server. It may block on the server's reader, which itself never blocks. Errors mean
// that the server is gone, which the main goroutine notices itself. The caller holds k.mu.
func (k *keeper) send(message []byte) {
	_ = packets(message, func(packet []byte) error {
		for {
			err := unix.Sendmsg(socketFD, packet, nil, nil, unix.MSG_NOSIGNAL)
			if err != unix.EINTR {
				return err
			}
		}
	})
}

// shortName returns a signal's name without SIG.
func shortName(sig syscall.Signal) string {
	return strings.TrimPrefix(unix.SignalName(sig), "SIG")
}
