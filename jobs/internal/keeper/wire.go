package keeper

import (
	"encoding/binary"
	"errors"
	"syscall"
	"time"
)

// Messages between server and keeper. A message is an opcode and its fields, integers as varints and strings after
// their length. It travels in one or more packets of at most maxPacket bytes, whose first byte is moreFollows or
// lastPart: a packet that exceeds the socket's buffer could never be sent, and a list of a thousand processes exceeds
// it.
const (
	maxPacket = 8 << 10

	lastPart    = 0
	moreFollows = 1
)

const (
	opStart   = iota + 1 // server: job, flags, the command if it is short; with descriptors
	opKill               // server: job, grace in ns, flags
	opSignal             // server: job, seq, target, signal
	opStarted            // keeper: pid
	opFailed             // keeper: index into stages, errno
	opReply              // keeper: seq, errno (0: done)
	opEvent              // keeper: an Event
	opReady              // keeper: job, which it has given up completely
)

// The server numbers the jobs of a keeper, so that the keeper can drop messages for an earlier one. The other direction
// needs no number: opReady is the keeper's last message about a job, and the next one starts after that.

const (
	startCommand  = 1 << iota // which descriptors are sent along, in this order; that of a
	startTerminal             // command too long for a packet is a file in memory
	startStdin
	startStdout
	startStderr
	startDirectory
)

// maxInPacket is the length of the longest command that is sent in the packet itself; a file in memory takes six system
// calls.
const maxInPacket = maxPacket / 2

const (
	killNoForce = 1 << iota
	killHangup
	killLast
)

// stages numbers the stages on the wire.
var stages = [...]string{StageKeeper, StageTerminal, StageChdir, StageExec, StageResource, StageLimits}

func stageName(i int) string {
	if i < 0 || i >= len(stages) {
		return StageKeeper
	}
	return stages[i]
}

var errMalformed = errors.New("keeper: malformed message")

func appendInt(b []byte, v int) []byte { return binary.AppendVarint(b, int64(v)) }

func appendString(b []byte, s string) []byte {
	b = binary.AppendUvarint(b, uint64(len(s)))
	return append(b, s...)
}

func appendStrings(b []byte, list []string) []byte {
	b = appendInt(b, len(list))
	for _, s := range list {
		b = appendString(b, s)
	}
	return b
}

func appendBool(b []byte, v bool) []byte {
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}

// A decoder takes fields off a message. After the first missing field it yields zero values, and done returns the
// error.
type decoder struct {
	b   []byte
	bad bool
}

func (d *decoder) fail() { d.b, d.bad = nil, true }

func (d *decoder) byte() byte {
	if len(d.b) == 0 {
		d.fail()
		return 0
	}
	c := d.b[0]
	d.b = d.b[1:]
	return c
}

func (d *decoder) int64() int64 {
	v, n := binary.Varint(d.b)
	if n <= 0 {
		d.fail()
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) int() int { return int(d.int64()) }

func (d *decoder) bool() bool { return d.byte() != 0 }

func (d *decoder) string() string {
	size, n := binary.Uvarint(d.b)
	if n <= 0 || size > uint64(len(d.b)-n) {
		d.fail()
		return ""
	}
	s := string(d.b[n : n+int(size)])
	d.b = d.b[n+int(size):]
	return s
}

// count reads the length of a list whose elements take at least one byte each, so that a bad length allocates nothing.
func (d *decoder) count() int {
	n := d.int()
	if n < 0 || n > len(d.b) {
		d.fail()
		return 0
	}
	return n
}

func (d *decoder) strings() []string {
	list := make([]string, 0, d.count())
	for range cap(list) {
		list = append(list, d.string())
	}
	return list
}

func (d *decoder) done() error {
	if d.bad || len(d.b) > 0 {
		return errMalformed
	}
	return nil
}

// encodeCommand encodes the part of a Command that goes through the memfd.
func encodeCommand(c Command) []byte {
	b := appendString(nil, c.Path)
	b = appendString(b, c.Dir)
	b = appendStrings(b, c.Argv)
	return appendLimits(appendStrings(b, c.Env), c.Limits)
}

func decodeCommand(b []byte) (Command, error) {
	d := decoder{b: b}
	c := Command{Path: d.string(), Dir: d.string(), Argv: d.strings(), Env: d.strings(), Limits: d.limits()}
	return c, d.done()
}

func encodeKill(job int, o KillOptions) []byte {
	flags := 0
	if o.NoForce {
		flags |= killNoForce
	}
	if o.Hangup {
		flags |= killHangup
	}
	if o.Last {
		flags |= killLast
	}
	b := binary.AppendVarint(appendInt([]byte{opKill}, job), int64(o.Grace))
	return appendInt(b, flags)
}

func encodeSignal(job, seq int, target Target, sig syscall.Signal) []byte {
	b := appendInt(appendInt([]byte{opSignal}, job), seq)
	return appendInt(appendInt(b, int(target)), int(sig))
}

func (d *decoder) killOptions() KillOptions {
	grace, flags := time.Duration(d.int64()), d.int()
	return KillOptions{Grace: grace, NoForce: flags&killNoForce != 0, Hangup: flags&killHangup != 0, Last: flags&killLast != 0}
}

func appendProc(b []byte, p Proc) []byte {
	b = appendInt(b, p.PID)
	b = appendInt(b, p.PPID)
	b = appendInt(b, p.PGID)
	b = appendInt(b, p.SID)
	b = appendString(b, p.Comm)
	b = appendString(b, p.Command)
	return appendBool(b, p.HoldsTerminal)
}

func (d *decoder) proc() Proc {
	return Proc{
		PID: d.int(), PPID: d.int(), PGID: d.int(), SID: d.int(),
		Comm: d.string(), Command: d.string(), HoldsTerminal: d.bool(),
	}
}

// encodeEvent encodes all fields, of any kind: the empty ones cost a byte.
func encodeEvent(e Event) []byte {
	b := []byte{opEvent, byte(e.Kind)}
	b = appendInt(b, e.Code)
	b = appendInt(b, int(e.Signal))
	b = appendBool(b, e.Core)
	b = appendBool(b, e.ByItself)
	b = appendInt(b, len(e.Background))
	for _, p := range e.Background {
		b = appendProc(b, p)
	}
	return appendString(appendReport(b, e.Report), e.Limit)
}

func appendReport(b []byte, r Report) []byte {
	b = appendInt(b, len(r.Signals))
	for _, s := range r.Signals {
		b = appendString(b, s.Name)
		b = binary.AppendVarint(b, int64(s.After))
	}
	b = appendInt(b, len(r.Killed))
	for _, p := range r.Killed {
		b = appendString(appendProc(b, p.Proc), p.How)
	}
	b = appendInt(b, len(r.Survivors))
	for _, p := range r.Survivors {
		b = appendString(appendProc(b, p.Proc), p.Why)
	}
	return appendInt(b, r.Omitted)
}

// event decodes an Event after its opcode.
func (d *decoder) event() Event {
	e := Event{Kind: Kind(d.byte()), Code: d.int(), Signal: syscall.Signal(d.int()), Core: d.bool(), ByItself: d.bool()}
	for range d.count() {
		e.Background = append(e.Background, d.proc())
	}
	e.Report = d.report()
	e.Limit = d.string()
	return e
}

func (d *decoder) report() Report {
	var r Report
	for range d.count() {
		r.Signals = append(r.Signals, SignalSent{Name: d.string(), After: time.Duration(d.int64())})
	}
	for range d.count() {
		r.Killed = append(r.Killed, KilledProc{Proc: d.proc(), How: d.string()})
	}
	for range d.count() {
		r.Survivors = append(r.Survivors, Survivor{Proc: d.proc(), Why: d.string()})
	}
	r.Omitted = d.int()
	return r
}

// packets divides a message into packets for the socket.
func packets(message []byte, send func(packet []byte) error) error {
	buf := make([]byte, 0, min(len(message), maxPacket-1)+1)
	for {
		part := message[:min(len(message), maxPacket-1)]
		message = message[len(part):]
		flag := byte(lastPart)
		if len(message) > 0 {
			flag = moreFollows
		}
		if err := send(append(append(buf[:0], flag), part...)); err != nil || flag == lastPart {
			return err
		}
	}
}

// maxMessage is longer than any message: the longest has two lists of MaxProcs processes, each of which takes some
// hundred bytes.
const maxMessage = 2 << 20

// An assembler joins packets into messages.
type assembler struct{ message []byte }

// tooLong reports whether the message so far is longer than any message.
func (a *assembler) tooLong() bool { return len(a.message) > maxMessage }

// add returns the whole message with its last packet, and nil before. The result is valid until the next call.
func (a *assembler) add(packet []byte) []byte {
	if len(packet) == 0 {
		return nil
	}
	a.message = append(a.message, packet[1:]...)
	if packet[0] == moreFollows {
		return nil
	}
	whole := a.message
	a.message = a.message[:0]
	return whole
}
