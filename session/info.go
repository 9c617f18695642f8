package session

import (
	"encoding/json"
	"os"
	"time"
)

// infoVersion is the version of the format of host.json.
const infoVersion = 1

// maxInfo is the maximum size of host.json.
const maxInfo = 64 << 10

// An Info is the content of host.json.
type Info struct {
	V          int       `json:"v"`
	PID        int       `json:"pid"`
	StartTicks uint64    `json:"startTicks,omitempty"` // since boot; distinguishes processes with the same pid
	BootID     string    `json:"bootId,omitempty"`
	Machine    string    `json:"machine,omitempty"`
	Hostname   string    `json:"hostname,omitempty"`
	ID         string    `json:"id"`
	Session    string    `json:"session"`         // name of the directory
	Title      string    `json:"title,omitempty"` // for people
	Version    string    `json:"version"`
	Protocol   string    `json:"protocol"`
	Created    time.Time `json:"created"`
}

// here adds the facts about this process and machine.
func (i Info) here() Info {
	i.V, i.PID, i.Created = infoVersion, os.Getpid(), time.Now().UTC().Truncate(time.Millisecond)
	i.StartTicks, _ = startTicks(i.PID) // 0: unknown
	i.BootID, i.Machine = bootID(), machineID()
	i.Hostname, _ = os.Hostname() // "": unknown
	return i
}

// info reads host.json. It reports whether there is a complete one.
func (f *folder) info() (i Info, ok bool) {
	b, err := f.read(infoFile, maxInfo)
	if err != nil || json.Unmarshal(b, &i) != nil || i.V < 1 || i.PID < 1 {
		return Info{}, false
	}
	return i, true
}

// elsewhere reports whether the host runs on another machine, or did when it wrote host.json. If the kernel is the same
// one, this is the same machine in another container.
func (i Info) elsewhere() bool {
	if i.BootID == "" || i.BootID == bootID() {
		return false
	}
	hostname, _ := os.Hostname()
	return i.Machine != machineID() || i.Machine == "" && i.Hostname != hostname
}

// elsewhere returns the error for a session whose host may run on another machine.
func (f *folder) elsewhere(i Info) error {
	return errorf(Elsewhere, "the host of the session %s was started on %s, another machine, container or boot of it, and may be alive there; "+
		"attach there, or choose another name. If that machine is gone: shelld sessions prune -elsewhere %[1]s", f.name, i.Hostname)
}

// process reports whether the host's process is alive on this machine, under the same pid.
func (i Info) process() bool {
	ticks, err := startTicks(i.PID)
	return err == nil && i.BootID == bootID() && ticks == i.StartTicks
}
