package inputwait

// A callKind is what a system call waits for, as far as it matters.
type callKind uint8

const (
	callOther   callKind = iota // does something
	callIdle                    // waits for another thread, or a signal
	callRead                    // reads the descriptor in its first argument
	callSendf                   // reads the descriptor in its second argument
	callWrite                   // writes to the descriptor in its first argument
	callPoll                    // fds, count, milliseconds
	callPpoll                   // fds, count, timespec
	callSelect                  // count, three sets, timeval
	callPselect                 // count, three sets, timespec
	callEpoll                   // epoll, events, count, milliseconds
	callEpoll2                  // epoll, events, count, timespec
	callSleep                   // until a time
	callSocket                  // something from a socket
	callRestart                 // goes on with one that was interrupted
	callRing                    // io_uring_enter: what for cannot be seen
)

type callName struct {
	kind callKind
	name string
}

// callOf looks a system call up.
func callOf(number int) callName {
	if number >= 0 && number < len(calls) {
		return calls[number]
	}
	return callName{}
}
