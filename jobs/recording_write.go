package jobs

import (
	"fmt"
	"strconv"
	"time"

	"shelld.dev/shelld/jobs/internal/cast"
)

// run owns the recording's file: it creates it, writes the notes to it and closes it.
func (r *recording) run() {
	defer close(r.done)
	r.open()
	var spare []moment
	for ended := false; !ended; {
		<-r.wake
		var all []moment
		all, ended = r.take(spare)
		for i := range all {
			r.write(&all[i])
		}
		if ended {
			r.finish()
		}
		r.flush()
		clear(all) // otherwise typed text would stay in memory
		spare = all[:0]
		if cap(spare) > 64 {
			spare = nil // releases the memory that a burst needed
		}
	}
	r.close()
}

// open makes the file. If there are no free descriptors, it tries again until there are some, or until no further
// events will come. Events that happen meanwhile are noted, as with a slow disk.
func (r *recording) open() {
	file, err := r.job.mgr.system.createRecording(r.job.folder)
	for isResource(err) && !r.hasEnded() {
		time.Sleep(recordTime) // there is no event for free descriptors
		file, err = r.job.mgr.system.createRecording(r.job.folder)
	}
	if err != nil {
		r.stop(err)
		return
	}
	r.file = file
	a := r.job.mgr.settings.archive
	r.cast = cast.NewWriter(cast.Options{
		File: file, Max: r.job.mgr.settings.limits.SpoolDisk, MaxName: "limits.spoolDiskBytes",
		Room: a.total, RoomName: "limits.spoolTotalBytes",
	}, r.header)
	r.flush()
}

// take returns the notes so far, and whether no further ones will come. The caller may use the list until the next
// call, to which it may pass the list for reuse.
func (r *recording) take(room []moment) (all []moment, ended bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	all, r.moments = r.moments, room
	r.joined, r.typing = nothingJoined, 0
	return all, r.ended
}

func (r *recording) hasEnded() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ended
}

// stop ends the noting of events. A non-nil err is the reason, and is reported once.
func (r *recording) stop(err error) {
	r.mu.Lock()
	first := err != nil && r.failed == nil
	if first {
		r.failed = err
	}
	r.moments, r.over = nil, true
	r.mu.Unlock()
	if first {
		r.recordingFailed(err)
	}
}

func (r *recording) write(m *moment) {
	if r.cast == nil || r.cast.Over() {
		return
	}
	switch m.kind {
	case noteOutput, noteSecond:
		r.writeOutput(int(m.kind), m.at, m.end)
	case noteInput:
		r.add(len(r.streams), m.at, []byte(m.text))
	case noteResize:
		r.cast.Event(m.at, cast.Resize, m.text)
	case noteLost:
		r.missing(m.at, m.end, "input, because the disk was too slow")
	}
}

// pieceBytes is the maximum amount of output in one event.
const pieceBytes = 16 << 10

// writeOutput writes the output of a stream up to an offset.
func (r *recording) writeOutput(stream int, at time.Duration, to int64) {
	room := readBuffers.Get().(*[]byte)
	defer readBuffers.Put(room)
	buf := (*room)[:pieceBytes]
	for from := r.read[stream]; from < to && !r.cast.Over(); from = r.read[stream] {
		s, what := r.streams[stream].spool, "output, which was dropped before it could be recorded"
		b := buf[:min(int64(len(buf)), to-from)]
		n, found, err := s.TryRead(b, from)
		if err != nil {
			n, found = s.Read(b, from) // reads behind the unreadable part
			what = "output, which could not be read from its file: " + errnoText(err)
		}
		if n == 0 {
			found = to
		}
		if found = min(found, to); found > from {
			r.flushText(stream, at)
			r.missing(at, found-from, what)
		}
		n = int(min(int64(n), to-found))
		r.add(stream, at, buf[:n])
		r.read[stream] = found + int64(n)
	}
}

// add writes an event with the complete characters of further text of a stream. The number behind the last stream
// stands for the input.
func (r *recording) add(stream int, at time.Duration, p []byte) {
	r.event(stream, at, func(b []byte) []byte { return r.text[stream].Append(b, p) })
}

// flushText writes the remaining part of an incomplete character.
func (r *recording) flushText(stream int, at time.Duration) {
	r.event(stream, at, r.text[stream].Flush)
}

// event writes an event if data adds any bytes to it.
func (r *recording) event(stream int, at time.Duration, data func([]byte) []byte) {
	code := cast.Output
	if stream == len(r.streams) {
		code = cast.Input
	}
	b := r.cast.Begin(at, code)
	if b == nil {
		return
	}
	n := len(b)
	if b = data(b); len(b) > n {
		r.cast.End(b)
	} else {
		r.cast.Withdraw()
	}
}

// missing writes a marker at the place of missing data.
func (r *recording) missing(at time.Duration, n int64, what string) {
	r.cast.Event(at, cast.Marker, fmt.Sprintf("shelld: %d bytes are missing here: %s", n, what))
}

// finish writes the last events: incomplete characters, and the exit.
func (r *recording) finish() {
	if r.cast == nil {
		return
	}
	for i := range r.text {
		r.flushText(i, 0) // time 0: at the time of the last event
	}
	r.mu.Lock()
	exit := r.exit
	r.mu.Unlock()
	if exit != nil {
		r.cast.Exit(exit.at, strconv.Itoa(exit.status))
	}
}

func (r *recording) flush() {
	if r.cast == nil {
		return
	}
	if err := r.cast.Flush(); err != nil {
		r.stop(fmt.Errorf("recording: %w", err))
	} else if r.cast.Over() {
		r.stop(nil)
	}
}

func (r *recording) close() {
	if r.file == nil {
		return
	}
	r.cast.Mend()
	if err := r.file.Close(); err != nil {
		r.stop(err)
	}
}

// giveBack returns the disk space of a deleted recording to the total limit.
func (r *recording) giveBack() {
	if r.cast != nil {
		r.job.mgr.settings.archive.total.Owe(-r.cast.Size())
	}
}
