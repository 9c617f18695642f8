package jobs

import (
	"os"
	"slices"
	"strings"
	"sync"

	"shelld/jobs/internal/view"
	"shelld/screen"
)

// A display is what the programs of a terminal job tell the terminal beside what is
// to be shown, and who of them has its foreground. The readLoop writes it, as a part
// of storing output; the job's loop reads it. A nil display is that of a pipe.
type display struct {
	// Immutable:
	term terminal

	screen view.Queries // those that the view answers; has a lock of its own

	// Owned by the readLoop:
	scanner *screen.Scanner

	mu     sync.Mutex
	heard  screen.Told    // as of all output that was read
	told   screen.Told    // as of all output that is stored
	asking []screen.Query // in the output that is not stored yet
	asked  []screen.Query // that nobody has taken
	lost   int            // queries that were dropped
	group  int            // the foreground group when output came last
	groups uint64         // how often that was another one than before
	reads  uint64         // how often output came
}

// begin begins with what a start leaves: the leader has the foreground. It is
// not looked up, since a program that is just being loaded has no arguments yet.
func (p *displayPart) begin() {
	p.heard = &display{term: p.j.term, scanner: screen.NewScanner(hostName()), group: p.j.info.PID}
	p.heard.scanner.Clean = p.j.redaction.text
	p.j.output.stream(PTY).display = p.heard
	p.glance.size = p.sizes.Count()
	command := strings.Join(p.j.info.Argv, " ")
	command = strings.ToValidUTF8(command[:min(len(command), maxCommand)], "?")
	p.j.info.Foreground = &Process{p.j.info.PID, p.j.redaction.command(command)}
}

// maxCommand is how much is told of a command line, wherever one is.
const maxCommand = 256

// hostName is by what programs call this machine; "" where it has no name.
var hostName = sync.OnceValue(func() string {
	name, _ := os.Hostname() // Without one, directories of other machines are told by their names all the same.
	return name
})

// read takes output before it is stored: whoever sees it finds what it says, and what
// he types is for the modes that it asks for.
func (d *display) read(p []byte) {
	if d == nil {
		return
	}
	d.scanner.Scan(p)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.heard = d.scanner.Told()
	if asked, lost := d.scanner.Queries(); len(asked) > 0 {
		if d.lost > 0 { // nobody has taken those before it yet
			d.lost += len(asked)
			asked = nil
		}
		d.screen.Add(asked, mostQueries)
		d.asking = append(d.asking, asked...)
		d.lost += lost
	}
}

// stored says that the output which was read last is there: an event may speak of it
// now, since it does not come before its output.
func (d *display) stored() {
	if d == nil {
		return
	}
	group, err := d.term.ForegroundGroup()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.told = d.heard
	d.ask(len(d.asking))
	d.reads++
	// An error means that the terminal is gone, 0 that the job's session has given it
	// up: what comes then was written before.
	if err == nil && group > 0 && group != d.group {
		d.group = group
		d.groups++
	}
}

// reached says that output up to an offset is there, whether stored has said so or is
// about to.
func (d *display) reached(end int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ask(endBy(d.asking, end))
}

// ask has the first n queries answered, which are in what was stored. Of those that nobody
// takes so many are kept.
func (d *display) ask(n int) {
	asking, rest := d.asking[:n], d.asking[n:]
	room := max(mostQueries-len(d.asked), 0)
	if n > room {
		d.lost += n - room
		asking = asking[:room]
	}
	d.asked = append(d.asked, asking...)
	d.asking = append([]screen.Query(nil), rest...) // nil where there are none
}

// endBy is how many of queries end by an offset.
func endBy(queries []screen.Query, end int64) int {
	if i := slices.IndexFunc(queries, func(q screen.Query) bool { return q.To > end }); i >= 0 {
		return i
	}
	return len(queries)
}

// takeAsked returns the queries in what was stored that nobody has taken and that end by an
// offset, and how many were dropped.
func (d *display) takeAsked(end int64) (asked []screen.Query, lost int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := endBy(d.asked, end)
	if asked = d.asked[:n:n]; n < len(d.asked) {
		d.asked = d.asked[n:]
		return asked, 0
	}
	lost, d.asked, d.lost = d.lost, nil, 0
	return asked, lost
}

// latest returns what the stored output has told, how often the foreground was seen
// to change hands, and how often output came.
func (d *display) latest() (told screen.Told, groups, reads uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.told, d.groups, d.reads
}

// last returns what the output has told so far, also where it is not stored yet.
func (d *display) last() screen.Told {
	if d == nil {
		return screen.Told{}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.heard
}

// modes are what the job's programs have asked of their terminal so far.
func (p *displayPart) modes() screen.Modes { return p.heard.last().Modes }
