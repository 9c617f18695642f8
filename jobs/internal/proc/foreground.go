package proc

// A Foreground is what runs in a terminal's foreground.
type Foreground struct {
	Group   int    // the id of the process group; 0: there is none
	PID     int    // of its leader, or of another member; 0: nobody of it was found
	Command string // the arguments of that process joined by spaces, at most 256 bytes
}
