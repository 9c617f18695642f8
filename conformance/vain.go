package conformance

import (
	"strings"

	"shelld.dev/shelld/conformance/internal/wire"
)

// A vainError says that an awaited message cannot come any more.
type vainError struct {
	item item
	why  string
}

func (e *vainError) Error() string { return "expected , which cannot come any more: " + e.why }

// inVain returns an error about the first of some items that no future message can match: an event of a closed
// job, which sends no more (else the job's own check fails), or an answer that came before. The caller has
// already compared the items with all messages so far.
func (p *player) inVain(left []item) error {
	for _, it := range left {
		if it.name != "" {
			if r := p.requests[it.name]; r != nil && r.answer != nil {
				return &vainError{it, "the answer to " + it.name + " has come already"}
			}
			continue
		}
		if j := p.jobOfItem(it); j != nil && j.closed {
			return &vainError{it, "job " + j.handle + " is closed"}
		}
	}
	return nil
}

// jobOfItem returns the job that an event is expected of. It returns nil if the item does not name one, or if no
// message has mentioned it yet.
func (p *player) jobOfItem(it item) *jobView {
	o, _ := it.params.(object)
	for _, m := range o.members {
		if m.name != "handle" || !strings.HasPrefix(it.method, "job/") {
			continue
		}
		if handle, err := (matcher{p.vars}).evaluate(m.v); err == nil {
			return p.check.jobs[wire.Show(handle)]
		}
	}
	return nil
}
