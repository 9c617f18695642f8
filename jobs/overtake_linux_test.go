package jobs

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"
)

// crowded starts a job on a terminal, types more into it than the kernel takes, and queues another write behind that.
// taken is the number of bytes that the kernel has taken at once.
func crowded(t *testing.T, m *Manager, command string) (j *Job, taken int64, stuck, behind Pending[WriteResult]) {
	t.Helper()
	j = started(t, m, sh(command), "ready")
	lines := strings.Repeat("0123456789abcde\n", 4<<10)
	first, _ := j.Write(Input{Text: lines, Wait: &WaitSpec{}})
	if taken = must(t, first).BytesWritten; taken < 4096 || taken >= 64<<10 {
		t.Errorf("the kernel has taken %d bytes", taken)
	}
	stuck, _ = j.Write(Input{Text: lines})
	behind, _ = j.Write(Input{Text: "behind\n", Wait: &WaitSpec{Until: []Condition{pattern("never")}, Timeout: -1}})
	// When this is answered, both writes are queued.
	must(t, j.Info())
	return j, taken, stuck, behind
}

// typed types input and returns the match of a pattern in the output.
func typed(t *testing.T, j *Job, in Input, want string) string {
	t.Helper()
	until := pattern(want)
	until.AfterInput = ptr(false) // There is no echo, and the output quotes the input.
	in.Wait = &WaitSpec{Until: []Condition{until}, From: Origin{Kind: FromStart}, Timeout: time.Minute}
	p, err := j.Write(in)
	if err != nil {
		t.Fatal(err)
	}
	o := must(t, p).Outcome
	if o.Reason != "pattern" {
		t.Fatalf("awaiting %s: %s", want, o.Reason)
	}
	return o.Match.Text
}

// deaf returns a command that reads no input until it gets a signal. The signal ends its wait: the shell would handle a
// signal during a foreground command only after that command.
func deaf(mode, signal, then string) string {
	const command = `%s; sleep 60 & trap 'echo heard; kill $!; %s; exit' %s; echo ready; wait`
	return fmt.Sprintf(command, mode, then, signal)
}

// If a job does not read and its terminal is full, a signal key still takes effect at once. The input that the job
// reads later begins with the input after the key.
func TestSignalKeysOvertake(t *testing.T) {
	m := startReal(t, Options{})
	for _, mode := range []string{"stty -echo", "stty echo", "stty -echo -icanon", "stty -echo -isig; stty isig"} {
		for _, key := range []struct{ name, signal string }{{"Ctrl-C", "INT"}, {"Ctrl-\\", "QUIT"}} {
			t.Run(mode+" "+key.name, func(t *testing.T) {
				j, _, stuck, behind := crowded(t, m, deaf(mode, key.signal, `read x; echo "got [$x]"`))
				typed(t, j, Input{Keys: []string{key.name}}, "heard")
				e := refused(t, stuck, CodeCanceled)
				if n := deref(t, e.BytesWritten); n >= 64<<10 {
					t.Errorf("%d bytes were taken", n)
				}
				if e := refused(t, behind, CodeCanceled); deref(t, e.BytesWritten) != 0 {
					t.Errorf("%d bytes of what was behind", deref(t, e.BytesWritten))
				}
				if got := typed(t, j, Input{Text: "later\n"}, `got \[.*\]`); got != "got [later]" {
					t.Errorf("%s", got)
				}
				awaitClosed(t, j)
			})
		}
	}
}

// The key takes effect even if the server has no queued input: the kernel has all of it.
func TestSignalKeyBehindWhatTheKernelHas(t *testing.T) {
	m := startReal(t, Options{})
	j := started(t, m, sh("stty -echo; echo ready; exec sleep 60"), "ready")
	p, _ := j.Write(Input{Text: strings.Repeat("0123456789abcde\n", 1<<10), Wait: &WaitSpec{Timeout: time.Minute}})
	key, _ := j.Write(Input{Keys: []string{"Ctrl-C"}})
	<-p.C
	if r := must(t, key); r.BytesWritten != 1 {
		t.Errorf("%+v", r)
	}
	if e := awaitClosed(t, j).State.Exit; e.Signal != "SIGINT" {
		t.Errorf("%+v", e)
	}
}

// A terminal with NOFLSH keeps its input over a signal: all input that it has taken arrives.
func TestSignalKeyKeepsTheInput(t *testing.T) {
	m := startReal(t, Options{})
	j, taken, stuck, _ := crowded(t, m, deaf("stty -echo noflsh", "INT", `echo "count $(sed /Z/q | wc -c)."`))
	typed(t, j, Input{Keys: []string{"Ctrl-C"}}, "heard")
	taken += deref(t, refused(t, stuck, CodeCanceled).BytesWritten)
	got := strings.Fields(typed(t, j, Input{Text: "Z\n"}, `count +\d+\.`))[1]
	if got != strconv.FormatInt(taken+2, 10)+"." {
		t.Errorf("%s bytes arrived, want %d and 2", got, taken)
	}
	awaitClosed(t, j)
}

// If the program reads keys itself, Ctrl-C is an ordinary byte.
func TestNoSignalKeyWaitsItsTurn(t *testing.T) {
	m := startReal(t, Options{})
	j := started(t, m, sh(`stty raw -echo; echo ready; head -c 36872 | tail -c 8 | od -An -tx1`), "ready")
	stuck, _ := j.Write(Input{Text: strings.Repeat("x", 36<<10)})
	behind, _ := j.Write(Input{Text: "behind\n"})
	key, _ := j.Write(Input{Keys: []string{"Ctrl-C"}})
	if r := must(t, stuck); r.BytesWritten != 36<<10 {
		t.Errorf("%+v", r)
	}
	if r := must(t, key); r.BytesWritten != 1 {
		t.Errorf("%+v", r)
	}
	must(t, behind)
	o := awaitClosed(t, j)
	data, _ := j.Range(PTY, o.Output[PTY])
	if got := strings.Join(strings.Fields(string(data)), " "); got != "ready 62 65 68 69 6e 64 0a 03" {
		t.Errorf("%s", got)
	}
}
