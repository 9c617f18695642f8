package inputwait

import "time"

type (
	State      string
	Kind       string
	Confidence string
)

const (
	Reading   State = "reading"
	Listening State = "listening"

	Line     Kind = "line"
	Password Kind = "password"
	Raw      Kind = "raw"

	Exact  Confidence = "exact"
	Likely Confidence = "likely"
	Guess  Confidence = "guess"
)

type Verdict struct {
	Waiting    bool
	State      State
	Kind       Kind
	Confidence Confidence
	PID        int
	Why        string
	Again      time.Duration
	Blocked    bool
	Stopped    bool
}
