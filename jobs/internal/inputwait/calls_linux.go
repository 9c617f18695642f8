package inputwait

// A callKind classifies system calls by what they wait for.
type callKind uint8

const (
	callOther   callKind = iota // does not wait for anything known
	callIdle                    // waits for another thread or a signal
	callRead                    // reads the descriptor in its first argument
	callSendf                   // reads the descriptor in its second argument
	callWrite                   // writes to the descriptor in its first argument
	callPoll                    // fds, count, milliseconds
	callPpoll                   // fds, count, timespec
	callSelect                  // count, three sets, timeval
	callPselect                 // count, three sets, timespec
	callEpoll                   // epoll, events, count, milliseconds
	callEpoll2                  // epoll, events, count, timespec
	callSleep                   // waits for a time
	callSocket                  // waits on a socket
	callRestart                 // continues an interrupted call
	callRing                    // io_uring_enter: what it waits for cannot be seen
)

type callName struct {
	kind callKind
	name string
}

// callOf returns the entry of a system call's number, or the zero callName if it has none.
func callOf(number int) callName {
	if number >= 0 && number < len(calls) {
		return calls[number]
	}
	return callName{}
}
