package inputwait

import "golang.org/x/sys/unix"

const knowsCalls = true

// restartedPoll is the call that restart_syscall continues if it sleeps in a poll: the arguments are still those of
// poll(2).
var restartedPoll = callName{callPoll, "poll"}

// calls are the relevant system calls by number. glibc implements select with pselect6.
var calls = [...]callName{
	unix.SYS_READ:            {callRead, "read"},
	unix.SYS_READV:           {callRead, "readv"},
	unix.SYS_PREAD64:         {callRead, "pread64"},
	unix.SYS_PREADV:          {callRead, "preadv"},
	unix.SYS_PREADV2:         {callRead, "preadv2"},
	unix.SYS_SPLICE:          {callRead, "splice"},
	unix.SYS_SENDFILE:        {callSendf, "sendfile"},
	unix.SYS_WRITE:           {callWrite, "write"},
	unix.SYS_WRITEV:          {callWrite, "writev"},
	unix.SYS_POLL:            {callPoll, "poll"},
	unix.SYS_PPOLL:           {callPpoll, "ppoll"},
	unix.SYS_SELECT:          {callSelect, "select"},
	unix.SYS_PSELECT6:        {callPselect, "pselect6"},
	unix.SYS_EPOLL_WAIT:      {callEpoll, "epoll_wait"},
	unix.SYS_EPOLL_PWAIT:     {callEpoll, "epoll_pwait"},
	unix.SYS_EPOLL_PWAIT2:    {callEpoll2, "epoll_pwait2"},
	unix.SYS_NANOSLEEP:       {callSleep, "nanosleep"},
	unix.SYS_CLOCK_NANOSLEEP: {callSleep, "clock_nanosleep"},
	unix.SYS_RECVFROM:        {callSocket, "recvfrom"},
	unix.SYS_RECVMSG:         {callSocket, "recvmsg"},
	unix.SYS_RECVMMSG:        {callSocket, "recvmmsg"},
	unix.SYS_CONNECT:         {callSocket, "connect"},
	unix.SYS_ACCEPT:          {callSocket, "accept"},
	unix.SYS_ACCEPT4:         {callSocket, "accept4"},
	unix.SYS_FUTEX:           {callIdle, "futex"},
	unix.SYS_FUTEX_WAITV:     {callIdle, "futex_waitv"},
	unix.SYS_PAUSE:           {callIdle, "pause"},
	unix.SYS_RT_SIGTIMEDWAIT: {callIdle, "rt_sigtimedwait"},
	unix.SYS_RT_SIGSUSPEND:   {callIdle, "rt_sigsuspend"},
	unix.SYS_IO_URING_ENTER:  {callRing, "io_uring_enter"},
	unix.SYS_RESTART_SYSCALL: {callRestart, "restart_syscall"},
}
