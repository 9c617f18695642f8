package jobs

import (
	"os"
	"slices"
	"sync"

	"shelld.dev/shelld/jobs/internal/view"
	"shelld.dev/shelld/screen"
)

// A display holds what the programs of a terminal job send to the terminal besides text to show (properties and
// queries), and the foreground group of the terminal. The readLoop writes it as a part of storing output; the job's
// loop reads it. A nil display is that of a pipe.
type display struct {
	// Immutable:
	term terminal

	screen view.Queries // queries for the view; has a lock of its own

	// Owned by the readLoop:
	scanner *screen.Scanner

	mu     sync.Mutex
	heard  screen.Told    // as of all output that was read
	told   screen.Told    // as of all output that is stored
	asking []screen.Query // in the output that is not stored yet
	asked  []screen.Query // in the stored output, and not taken yet
	lost   int            // queries that were dropped
	group  int            // the foreground group when output last came
	groups uint64         // how often the foreground group has changed
	reads  uint64         // how often output came
}

// maxCommand is the length at which every reported command line is cut.
const maxCommand = 256

// hostName returns the host name by which programs call this machine, or "".
var hostName = sync.OnceValue(func() string {
	name, _ := os.Hostname() // Without a name, directories of other machines are reported as well.
	return name
})

// read scans output before it is stored. So a client that sees the output finds the properties that it sets, and its
// input is encoded for the terminal modes that the output requests.
func (d *display) read(p []byte) {
	if d == nil {
		return
	}
	d.scanner.Scan(p)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.heard = d.scanner.Told()
	if asked, lost := d.scanner.Queries(); len(asked) > 0 {
		if d.lost > 0 { // the number of queries dropped before is not taken yet: drop these, too
			d.lost += len(asked)
			asked = nil
		}
		d.screen.Add(asked, mostQueries)
		d.asking = append(d.asking, asked...)
		d.lost += lost
	}
}

// stored notes that the output of the last read is stored: events may now refer to it, since they do not come before
// their output.
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
	// An error means that the terminal is gone, 0 that the job's session has given it up: output that comes then was
	// written before.
	if err == nil && group > 0 && group != d.group {
		d.group = group
		d.groups++
	}
}

// reached notes that output up to an offset is stored, whether stored was called for it or is about to be.
func (d *display) reached(end int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ask(endBy(d.asking, end))
}

// ask releases the first n queries, whose output is stored, to be answered. At most mostQueries of them are kept until
// they are taken.
func (d *display) ask(n int) {
	asking, rest := d.asking[:n], d.asking[n:]
	room := max(mostQueries-len(d.asked), 0)
	if n > room {
		d.lost += n - room
		asking = asking[:room]
	}
	d.asked = append(d.asked, asking...)
	d.asking = append([]screen.Query(nil), rest...) // nil if there are none
}

// endBy returns how many of the queries end by an offset.
func endBy(queries []screen.Query, end int64) int {
	if i := slices.IndexFunc(queries, func(q screen.Query) bool { return q.To > end }); i >= 0 {
		return i
	}
	return len(queries)
}

// takeAsked takes the queries in the stored output that end by an offset. It also returns how many were dropped.
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

// latest returns the properties set by the stored output, how often the foreground group has changed, and how often
// output came.
func (d *display) latest() (told screen.Told, groups, reads uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.told, d.groups, d.reads
}

// last returns the properties set by all output that was read, even if it is not stored yet.
func (d *display) last() screen.Told {
	if d == nil {
		return screen.Told{}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.heard
}

// mostAnswers is how many bytes of answers may wait for a job to read them; further ones are dropped. A program that
// sends queries without end and reads no answers must not use up the memory.
const mostAnswers = 16 << 10

// mostQueries is how many queries may wait for an answer.
const mostQueries = mostAnswers / 16
