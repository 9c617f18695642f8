package keeper

import "os"

// AwaitSpare returns when the pool has a spare that waits for its command: asleep
// in its socket, which costs a look at /proc and no sleep of ours.
func AwaitSpare(p *Pool) {
	p.warmers.Wait()
	p.mu.Lock()
	pid := p.spare.proc.Pid
	p.mu.Unlock()
	for {
		text, err := os.ReadFile(procPath(pid, "syscall"))
		// 47 is recvmsg on amd64, 212 on arm64.
		if err != nil || len(text) > 3 && (string(text[:3]) == "47 " || string(text[:4]) == "212 ") {
			return
		}
	}
}
