package proc

// A Foreground describes the foreground process group of a terminal.
type Foreground struct {
	Group   int    // the id of the process group; 0: there is none
	PID     int    // of its leader, or of another member; 0: no member was found
	Command string // the arguments of that process joined by spaces, at most 256 bytes
}
