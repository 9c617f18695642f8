package jobs

import "sync"

// This file is about stored output that cannot be read though it may still be there, where nobody
// has asked for it by an offset. Whoever has, as by job/read, is refused, and told why. What shows
// output as it goes by has no place for that in its messages, and goes on behind what is missing:
// that is told to the log.

// goesPast returns who is told of what is gone past of a stream. It is told once for each reason: a
// flood meets the same disk again and again.
func (o *outputs) goesPast(name Stream) func(Range, error) {
	var mu sync.Mutex
	told := map[string]bool{}
	return func(r Range, err error) {
		e := storeError(err, o.j.files.folder.Path())
		mu.Lock()
		again := told[e.Errno]
		told[e.Errno] = true
		mu.Unlock()
		if again {
			return
		}
		o.j.log.Warn("stored output cannot be read, and is missing in what is shown of it: "+unreadAdvice(err),
			"job", o.j.id, "stream", name, "from", r.From, "to", r.To, "path", e.Path, "error", e.Errno)
	}
}

// unreadAdvice says how what was gone past is had after all.
func unreadAdvice(err error) string {
	const then = "job/read at that offset returns it as soon as it can be read"
	if isResource(err) {
		return "end some jobs, or give the server more descriptors or memory; " + then
	}
	return "see to the disk; " + then + ", and says until then why it cannot"
}
