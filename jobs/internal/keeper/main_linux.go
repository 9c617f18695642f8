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

	// serverDeathGrace is all that a job gets when its server is gone.
	serverDeathGrace = 250 * time.Millisecond
)

// isKeeper says whether this process was started as a keeper.
func isKeeper() bool {
	if len(os.Args) != 1 || os.Args[0] != processName {
		return false
	}
	kind, err := unix.GetsockoptInt(socketFD, unix.SOL_SOCKET, unix.SO_TYPE)
	return err == nil && kind == unix.SOCK_SEQPACKET
}

// The keeper runs in here, and never returns: what main imports beside this package
// would be made ready for nothing, in time and in memory (the tables of a validator
// and of regular expressions, a megabyte). All that this package imports is ready.
// Here alone is code sure to run on the main thread, which lives as long as the
// process: the runtime holds it for init. To lock it as well would start the thread
// that starts threads for locked ones.
func init() {
	if !isKeeper() {
		return
	}
	// ForkExec handed over the socket without it: a job that inherits the socket
	// could command its keeper, and hide the keeper's end from the server.
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

// closeInherited closes what whoever started the server has left open in it, and
// the server in us: neither the keeper nor the job has any use for it, and to hold
// the end of somebody's pipe does harm. All that came through an exec is without
// the flag that all of our own has.
func closeInherited() {
	open, _ := names("/proc/self/fd", 1<<16) // Without it a job may hold the end of somebody's pipe.
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
	born   heritage // as the server has made it
	faults int64    // its page faults before the first job
	kids   *ownChildren

	// mu is the reap lock: whoever holds it knows that no child's pid is reused.
	// It guards all that follows, and the sending of messages.
	mu         sync.Mutex
	serverGone bool
	scratch    [4096]byte
	job
}

// A job is what a keeper knows of the job that it serves.
type job struct {
	number int // as the server numbers the jobs of this keeper; 0 while there is none

	// Immutable once the command runs:
	leader int      // the command's pid
	tty    int      // the job's terminal, held open for the whole job; or -1
	marks  []string // the links in /proc/PID/fd of one who holds the job's output
	limits Limits   // which the job is held to

	leaderGone bool    // the command was reaped
	stopped    bool    // the server was told that the command is stopped
	op         *killOp // the kill operation that goes on, or nil
	blow       blow    // of the first of them
	last       bool    // there is no next job
}

// prepare makes this process fit to start a job.
func (k *keeper) prepare() error {
	setComm(processName)
	if err := dropSignals(caught[:]); err != nil {
		return err
	}
	// A job that stopped its keeper must not survive the server by that: CONT
	// comes with the server's death, and then the end of the socket is seen.
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGCONT), 0, 0, 0); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return err
	}
	// A signal that was blocked in the server's parent is blocked here, and would
	// be in every job. The fork copies this thread's mask.
	if err := unix.PthreadSigmask(unix.SIG_SETMASK, &unix.Sigset_t{}, nil); err != nil {
		return err
	}
	k.kids = openOwnChildren()
	k.job = job{tty: -1}
	k.born = inherited(k.self, k.scratch[:])
	// Up to here one was enough, and each has its own stock of memory. Two are
	// needed from the first job on: with one, whichever of the two system calls
	// returns that the keeper waits in, the runtime may take 10 ms to notice.
	runtime.GOMAXPROCS(2)
	k.faults = pageFaults()
	return nil
}

// setComm names the process, which is called exe after its file otherwise.
func setComm(name string) {
	text := append([]byte(name), 0)
	_ = unix.Prctl(unix.PR_SET_NAME, uintptr(unsafe.Pointer(&text[0])), 0, 0, 0) // Best effort.
	runtime.KeepAlive(text)
}

// caught are the signals that end or stop a process by default, but for those that
// cannot be caught, those that tell of an error in the program, SIGPROF, which the runtime
// has, and the real-time ones. Ignoring them would be simpler, but what is ignored stays
// ignored in the command through execve; what is caught is reset, if by execve alone: what
// comes between the fork and that is dropped too. That is also why signals are caught here
// that might have been inherited as ignored.
var caught = [...]unix.Signal{
	unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGUSR1, unix.SIGUSR2, unix.SIGPIPE,
	unix.SIGALRM, unix.SIGVTALRM, unix.SIGIO, unix.SIGPWR, unix.SIGSTKFLT, unix.SIGXCPU, unix.SIGXFSZ,
	unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU, unix.SIGCONT,
}

// serve reads messages until the server closes the socket, and then ends the
// job. It returns only if there is no job.
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
	select {} // reap exits when nothing is left.
}

// onMessage returns false if this keeper is of no more use.
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
		return true // It was sent before the server knew that its job is over.
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
		if err != nil { // ECONNRESET is the server's end with events of ours unread
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

// send gives the server one message. It may block on the server's reader, which
// waits for nobody. Errors mean that the server is gone, which the main goroutine
// sees for itself. The caller holds k.mu.
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

// shortName is a signal's name without SIG.
func shortName(sig syscall.Signal) string {
	return strings.TrimPrefix(unix.SignalName(sig), "SIG")
}
