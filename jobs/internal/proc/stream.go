package proc

import (
	"errors"
	"time"
)

// ErrDrained is what Read answers to Drain.
var ErrDrained = errors.New("proc: output is drained")

// ErrInterrupted is what Write answers to Interrupt and GiveUp.
var ErrInterrupted = errors.New("proc: write was interrupted")

// past is a deadline that wakes whoever waits in the poller.
var past = time.Unix(1, 0)
