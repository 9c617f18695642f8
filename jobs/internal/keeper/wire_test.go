package keeper

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"
)

var wireProc = Proc{PID: 12, PPID: 11, PGID: 12, SID: 10, Comm: "a b) c", Command: "x\ny é", HoldsTerminal: true}

var wireEvents = []Event{
	{Kind: Exited, Code: 255, Background: []Proc{wireProc, {}}},
	{Kind: Exited, Code: -1, Signal: 64, Core: true, ByItself: true},
	{Kind: Stopped, Signal: 19},
	{Kind: Limited, Limit: LimitProcesses},
	{Kind: Exited, Code: -1, Signal: 24, Limit: LimitCPU},
	{Kind: Empty},
	{Kind: Killed, Report: Report{
		Signals:   []SignalSent{{Name: "TERM", After: 3}, {Name: "KILL", After: time.Hour}},
		Killed:    []KilledProc{{Proc: wireProc, How: HowSelf}},
		Survivors: []Survivor{{Proc: wireProc, Why: "why"}},
		Omitted:   7,
	}},
}

func TestEventRoundTrip(t *testing.T) {
	for _, want := range wireEvents {
		d := decoder{b: encodeEvent(want)}
		if op := d.byte(); op != opEvent {
			t.Fatalf("opcode %d", op)
		}
		got := d.event()
		if err := d.done(); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, %v, want %+v", got, err, want)
		}
	}
}

func TestCommandRoundTrip(t *testing.T) {
	want := Command{Path: "/p", Dir: "/d", Argv: []string{"", "a\nb", strings.Repeat("x", 300_000)}, Env: []string{},
		Limits: Limits{OpenFiles: 1, Memory: 1 << 52, CPU: 3 * time.Second, Processes: 4}}
	got, err := decodeCommand(encodeCommand(want))
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestKillRoundTrip(t *testing.T) {
	for _, want := range []KillOptions{{}, {Grace: time.Minute, NoForce: true}, {Grace: -1, Hangup: true}, {Last: true}} {
		d := decoder{b: encodeKill(7, want)[1:]}
		if job, got := d.int(), d.killOptions(); job != 7 || got != want || d.done() != nil {
			t.Errorf("got %d, %+v, want %+v", job, got, want)
		}
	}
}

// Any part cut off a message, or added to it, is detected.
func TestMalformed(t *testing.T) {
	for _, e := range wireEvents {
		whole := encodeEvent(e)[1:]
		for n := range len(whole) {
			d := decoder{b: whole[:n]}
			d.event()
			if !errors.Is(d.done(), errMalformed) {
				t.Fatalf("%d of %d bytes of %v are taken for whole", n, len(whole), e.Kind)
			}
		}
		d := decoder{b: append(whole, 0)}
		d.event()
		if !errors.Is(d.done(), errMalformed) {
			t.Errorf("%v with a byte more is taken for whole", e.Kind)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, e := range wireEvents {
		f.Add(encodeEvent(e)[1:])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		d := decoder{b: b}
		e := d.event()
		if d.done() != nil {
			return
		}
		again := decoder{b: encodeEvent(e)[1:]}
		if got := again.event(); again.done() != nil || !reflect.DeepEqual(got, e) {
			t.Errorf("%x became %+v, and then %+v", b, e, got)
		}
	})
}

func TestPackets(t *testing.T) {
	for _, size := range []int{1, maxPacket - 2, maxPacket - 1, maxPacket, 3*maxPacket + 5} {
		want := bytes.Repeat([]byte("abc"), size)[:size]
		var a assembler
		var got [][]byte
		sent := 0
		err := packets(want, func(p []byte) error {
			sent++
			if len(p) > maxPacket {
				t.Errorf("a packet of %d bytes", len(p))
			}
			if whole := a.add(bytes.Clone(p)); whole != nil {
				got = append(got, bytes.Clone(whole))
			}
			return nil
		})
		if err != nil || len(got) != 1 || !bytes.Equal(got[0], want) {
			t.Errorf("%d bytes in %d packets: %v, %d messages", size, sent, err, len(got))
		}
	}
	if err := packets([]byte("x"), func([]byte) error { return syscall.EPIPE }); err != syscall.EPIPE {
		t.Errorf("got %v", err)
	}
}

func TestStageNames(t *testing.T) {
	for i, want := range stages {
		if got := stageName(i); got != want {
			t.Errorf("stage %d is %q", i, got)
		}
	}
	if stageName(-1) != StageKeeper || stageName(len(stages)) != StageKeeper {
		t.Error("a stage that there is not has a name")
	}
}

func TestStartErrorMessages(t *testing.T) {
	for _, test := range []struct {
		err  StartError
		want string
	}{
		{StartError{Stage: StageKeeper, Errno: syscall.EIO, Path: "/p"}, "run a keeper for /p: "},
		{StartError{Stage: StageTerminal, Errno: syscall.EPERM, Path: "/p"}, "give /p its terminal: "},
		{StartError{Stage: StageChdir, Errno: syscall.ENOENT, Path: "/d"}, "change directory to /d: "},
		{StartError{Stage: StageExec, Errno: syscall.EACCES, Path: "/p"}, "execute /p: "},
		{StartError{Stage: StageExec, Errno: syscall.ENOENT, Path: "/p", MissingInterpreter: "/i"}, "execute /p: its interpreter /i: "},
		{StartError{Stage: StageResource, Errno: syscall.EAGAIN, Path: "/p"}, "start a process for /p: "},
	} {
		if got := test.err.Error(); got != test.want+test.err.Errno.Error() {
			t.Errorf("got %q, want %q and the cause", got, test.want)
		}
	}
}

func TestNames(t *testing.T) {
	seen := make(map[string]bool)
	for k := Exited; k <= Limited; k++ {
		seen[k.String()] = true
	}
	for target := Leader; target <= ForegroundChild; target++ {
		seen[target.String()] = true
	}
	if len(seen) != 12 || (Limited+1).String() != "Kind(8)" || (ForegroundChild+1).String() != "Target(6)" {
		t.Errorf("names %v", seen)
	}
}
