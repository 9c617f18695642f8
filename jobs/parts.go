package jobs

import (
	"time"
)

// A part is one concern of a job. It owns its state, which is accessed only in turns. Each turn visits the parts in the
// order of newParts.
type part interface {
	review(now time.Time)        // act on everything that may have become true
	due(now time.Time) time.Time // when time alone can make something true; zero: never
	cancel(tok *token) bool      // withdraw the request, if it is one of this part
	pending() int                // the number of requests that are kept and not yet answered
	fail(err *Error)             // the job is gone: answer all requests
	shutdown(why func() *Error)  // the server ends: answer the requests that do not wait for the job's end
	exited(why func() *Error)    // answer the requests that only the leader could have satisfied
	inform(info *Info)           // add the part's share of the job's info; also called outside a turn
}

// noPart is embedded in parts. It has the methods that most of them do not need.
type noPart struct{}

func (noPart) review(time.Time)        {}
func (noPart) due(time.Time) time.Time { return time.Time{} }
func (noPart) cancel(*token) bool      { return false }
func (noPart) pending() int            { return 0 }
func (noPart) fail(*Error)             {}
func (noPart) shutdown(func() *Error)  {}
func (noPart) exited(func() *Error)    {}
func (noPart) inform(*Info)            {}

// inform lets each part add its share of the job's info.
func (j *base) inform(info *Info) {
	for _, p := range j.parts {
		p.inform(info)
	}
}

// A job is forgotten if a client removes it or if enough others have closed since. It then takes no more requests.
// Earlier requests are answered first: disk reads and the matching of stored output go on beside the loop, and a client
// that asks for output and then removes the job gets its output.
