package keeper

import (
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// AwaitSpare returns when the pool has a spare that waits for its command: it is blocked in a read of its socket. This
// reads /proc and does not sleep.
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

// Spares returns the number of keepers that wait for a job.
func Spares(p *Pool) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.spares)
}

// SendLate sends commands for a job as if its end was not known.
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

// KillHost kills the keeper process of the job, as another process might.
func KillHost(k *Keeper) { k.host.abandon() }

// AwaitStop returns when the guard has seen that the keeper was stopped.
func AwaitStop(k *Keeper) {
	for !k.host.stopped.Load() {
		runtime.Gosched()
	}
}

// ForgedEvent returns a packet that reports an event.
func ForgedEvent(kind Kind) []byte {
	return append([]byte{lastPart}, encodeEvent(Event{Kind: kind})...)
}

// EndStanding does the work of Kill for a keeper that takes no command, after Kill has found that the job is not over.
func EndStanding(k *Keeper) bool { return k.host.endStanding(k) }
