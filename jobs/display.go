package jobs

import (
	"os"
	"sync"

	"shelld/screen"
)

// A display is what the programs of a terminal job tell the terminal beside what is
// to be shown, and who of them has its foreground. The readLoop writes it, as a part
// of storing output; the job's loop reads it. A nil display is that of a pipe.
type display struct {
	// Immutable:
	term terminal

	// Owned by the readLoop:
	scanner *screen.Scanner

	mu     sync.Mutex
	modes  screen.Modes // as of all output that was read
	told   screen.Told  // as of all output that is stored
	group  int          // the foreground group when output came last
	groups uint64       // how often that was another one than before
}

func newDisplay(term terminal, host string, group int) *display {
	return &display{term: term, scanner: screen.NewScanner(host), group: group}
}

// hostName is by what programs call this machine; "" where it has no name.
var hostName = sync.OnceValue(func() string {
	name, _ := os.Hostname() // Without one, directories of other machines are told by their names all the same.
	return name
})

// read takes output before it is stored: whoever sees a program ask for something
// may type at once, and what he types is for the modes that were asked for.
func (d *display) read(p []byte) {
	if d == nil {
		return
	}
	d.scanner.Scan(p)
	modes := d.scanner.Told().Modes
	d.mu.Lock()
	defer d.mu.Unlock()
	d.modes = modes
}

// stored tells the loop of the output that was read last: not before it is there,
// since an event must not come before its output.
func (d *display) stored() {
	if d == nil {
		return
	}
	group, err := d.term.ForegroundGroup()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.told = d.scanner.Told()
	if err == nil && group != d.group { // an error means that the terminal is gone
		d.group = group
		d.groups++
	}
}

// latest returns what the stored output has told, and how often the foreground was
// seen to change hands.
func (d *display) latest() (screen.Told, uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.told, d.groups
}

// modes are what the job's programs have asked of their terminal so far.
func (j *Job) modes() screen.Modes {
	if j.display == nil {
		return screen.Modes{}
	}
	j.display.mu.Lock()
	defer j.display.mu.Unlock()
	return j.display.modes
}
