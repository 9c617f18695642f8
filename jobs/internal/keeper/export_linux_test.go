package keeper

import (
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// AwaitSpare returns when the pool has a spare that waits for its command: asleep
// in its socket, which costs a look at /proc and no sleep of ours.
func AwaitSpare(p *Pool) {
	p.warmers.Wait()
	p.mu.Lock()
	pid := p.spares[len(p.spares)-1].proc.Pid
	p.mu.Unlock()
	for {
		text, err := os.ReadFile(procPath(pid, "syscall"))
		// 47 is recvmsg on amd64, 212 on arm64.
		if err != nil || len(text) > 3 && (string(text[:3]) == "47 " || string(text[:4]) == "212 ") {
			return
		}
	}
}

// Spares is how many keepers wait for a job.
func Spares(p *Pool) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.spares)
}

// SendLate sends commands for a job as if it was not known to be over.
func SendLate(k *Keeper) {
	for _, message := range [][]byte{
		encodeKill(k.number, KillOptions{}),
		encodeSignal(k.number, 1, Tree, unix.SIGKILL),
		encodeSignal(k.number, 2, Leader, unix.SIGKILL),
		encodeSignal(k.number, 3, LeaderGroup, unix.SIGKILL),
	} {
		if err := k.host.sock.send(message); err != nil {
			panic(err)
		}
	}
}

// KillHost kills the keeper process that had the job, as if a stranger had.
func KillHost(k *Keeper) { k.host.abandon() }

// AwaitStop returns when the guard has seen that the keeper was stopped.
func AwaitStop(k *Keeper) {
	for !k.host.stopped.Load() {
		runtime.Gosched()
	}
}

// ForgedEvent is a packet that tells of an event.
func ForgedEvent(kind Kind) []byte {
	return append([]byte{lastPart}, encodeEvent(Event{Kind: kind})...)
}

// EndStanding is what Kill does to a keeper that takes no command, when it has found that
// the job is not over.
func EndStanding(k *Keeper) bool { return k.host.endStanding(k) }
