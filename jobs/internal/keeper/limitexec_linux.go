package keeper

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// A command with kernel limits is executed through one more process image, because Go cannot set limits between fork
// and exec: the keeper forks into this binary, the limiter, which receives the command through a socket, sets the
// limits on itself, and executes the command in its own place. So the pid, the group and the terminal belong to the
// command from the start, the keeper's own limits stay unchanged, and the program may be setuid, which it could not be
// under a tracer.

// limiterName is the limiter's argv[0].
const limiterName = "shelld-limiter"

// limiterReady is the byte that the limiter sends before it executes the command. Then the exec closes the socket, or
// the stage and errno of a failure follow.
const limiterReady = 'r'

func init() {
	if len(os.Args) != 1 || os.Args[0] != limiterName {
		return
	}
	if kind, err := unix.GetsockoptInt(socketFD, unix.SOL_SOCKET, unix.SO_TYPE); err != nil || kind != unix.SOCK_STREAM {
		return
	}
	unix.CloseOnExec(socketFD)
	stage, err := executeLimited()
	answer := appendInt([]byte{byte(slices.Index(stages[:], stage))}, int(errnoOf(err)))
	_ = writeAll(socketFD, answer) // It fails only if the keeper is gone.
	unix.Exit(1)
}

// executeLimited returns only if the command could not be executed.
func executeLimited() (stage string, err error) {
	text, err := readToEnd(socketFD)
	if err != nil {
		return StageKeeper, err
	}
	c, err := decodeCommand(text)
	if err != nil {
		return StageKeeper, unix.EBADMSG
	}
	rehearse(c)
	if err := writeAll(socketFD, []byte{limiterReady}); err != nil {
		return StageKeeper, err
	}
	if err := c.Limits.set(); err != nil {
		return StageLimits, err
	}
	err = syscall.Exec(c.Path, c.Argv, c.Env)
	return execStage(err), err
}

// rehearse allocates as much as Exec will, and releases it, before memory is limited: afterwards the heap cannot grow,
// and this process would die of that in the command's name. The released memory stays mapped, and from here on no
// garbage is collected.
func rehearse(c Command) {
	argv, _ := syscall.SlicePtrFromStrings(c.Argv) // Exec reports the error.
	envv, _ := syscall.SlicePtrFromStrings(c.Env)
	room := make([]byte, 1<<20)
	runtime.KeepAlive(argv)
	runtime.KeepAlive(envv)
	runtime.KeepAlive(room)
	debug.SetMemoryLimit(math.MaxInt64) // GOGC is off as well; see keeperEnv.
	runtime.GC()
}

// forkLimited is forkImage for a command that has kernel limits.
func forkLimited(c Command, stdio [3]int, terminal int) (pid int, stage string, err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, StageResource, err
	}
	defer func() { _ = unix.Close(pair[0]) }()
	pid, err = forkImage(Command{Path: "/proc/self/exe", Argv: []string{limiterName}, Env: keeperEnv}, stdio, terminal, pair[1])
	_ = unix.Close(pair[1]) // The limiter has it.
	if err != nil {
		stage = StageKeeper
		if execStage(err) == StageResource {
			stage = StageResource
		}
		return 0, stage, err
	}
	answer, err := converse(pair[0], encodeCommand(c))
	if len(answer) == 1 && answer[0] == limiterReady {
		return pid, "", nil
	}
	_ = unix.Kill(pid, unix.SIGKILL) // It is ending, unless the exchange with it failed.
	for {
		if _, werr := unix.Wait4(pid, nil, 0, nil); werr != unix.EINTR {
			break
		}
	}
	stage, err = limiterFailure(answer, err)
	return 0, stage, err
}

// limiterFailure returns the failure that the limiter reported. If it reported none, the failure is err or EIO.
func limiterFailure(answer []byte, err error) (string, error) {
	if len(answer) > 0 && answer[0] == limiterReady {
		answer = answer[1:]
	}
	d := decoder{b: answer}
	stage, errno := d.byte(), d.int()
	switch {
	case d.done() == nil && errno != 0:
		return stageName(int(stage)), syscall.Errno(errno)
	case err != nil:
		return StageKeeper, err
	}
	return StageKeeper, unix.EIO
}

// converse sends one message to the other side of a socket, and returns the whole answer.
func converse(fd int, say []byte) ([]byte, error) {
	err := writeAll(fd, say)
	if err == nil {
		err = unix.Shutdown(fd, unix.SHUT_WR)
	}
	answer, rerr := readToEnd(fd)
	if err == nil {
		err = rerr
	}
	return answer, err
}

func writeAll(fd int, b []byte) error {
	for len(b) > 0 {
		n, err := unix.SendmsgN(fd, b, nil, nil, unix.MSG_NOSIGNAL)
		if err != nil && err != unix.EINTR {
			return err
		}
		b = b[max(n, 0):]
	}
	return nil
}

func readToEnd(fd int) (all []byte, err error) {
	buf := make([]byte, 4096)
	for {
		n, err := unix.Read(fd, buf)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return all, err
		case n == 0:
			return all, nil
		default:
			all = append(all, buf[:n]...)
		}
	}
}
