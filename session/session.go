package session

import (
	"encoding/json"
	"os"
)

// A Call is what a front wants.
type Call struct {
	Session  string
	Existing bool     // do not start a host
	Program  string   // the file that is executed to start one; "": this program
	Host     []string // its arguments, beginning with the name of the program
	Client   Client
	In, Out  *os.File // handed over
}

// A Link is the connection of a front to the host, after the client was handed over.
type Link struct {
	*os.File
	Host int // the pid of the host if this process has started it; 0: another one has

	ended <-chan *os.ProcessState // receives the state of that host
}

// An Entry is a session as it is found.
type Entry struct {
	Name   string
	Path   string
	Alive  bool            // its host is
	Known  bool            // Info is
	Info   Info            // from host.json
	Status json.RawMessage // as the host reports it; nil: it does not
	Err    error           // why it does not
}

// A Skip says why Prune has not deleted a session whose host may have ended.
type Skip struct {
	Name string `json:"name"`
	Why  string `json:"why"`
}
