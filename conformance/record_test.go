//go:build linux

package conformance_test

import (
	"bufio"
	"bytes"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"shelld.dev/shelld/conformance"
	"shelld.dev/shelld/conformance/internal/wire"
	"shelld.dev/shelld/conformance/record"
)

// A recordedRun is a running recorder, with the test as its client.
type recordedRun struct {
	t       *testing.T
	file    string
	in      *os.File // to the recorder
	out     *os.File // from it
	signals chan os.Signal
	orphans bool // the server leaves a process behind
	done    chan struct{}
	what    record.Recorded
	err     error
}

// recording starts a recorder with a server.
func recording(t *testing.T, grace time.Duration, command ...string) *recordedRun {
	t.Helper()
	r := &recordedRun{t: t, file: filepath.Join(t.TempDir(), "session.txtar"), signals: make(chan os.Signal, 2), done: make(chan struct{})}
	stdin, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, stdout, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.in, r.out = in, out
	rec := &record.Recorder{Contract: conformance.LoadedContract(t), Command: command, File: r.file, Stdin: stdin, Stdout: stdout, Stderr: os.Stderr, Signals: r.signals, Grace: grace}
	go func() {
		defer close(r.done)
		r.what, r.err = rec.Record()
	}()
	t.Cleanup(func() {
		r.in.Close()
		r.out.Close()
		<-r.done
	})
	return r
}

// session waits for the end, and returns the session.
func (r *recordedRun) session() string {
	r.t.Helper()
	watchdog := time.AfterFunc(30*time.Second, func() { panic("the recorder does not end") })
	<-r.done
	watchdog.Stop()
	if r.err != nil {
		r.t.Fatal(r.err)
	}
	text, err := os.ReadFile(r.what.File)
	if err != nil {
		r.t.Fatal(err)
	}
	if _, err := conformance.Parse("session.txtar", text); err != nil {
		r.t.Errorf("%v\n%s", err, text)
	}
	left := conformance.Children()
	if len(left) > 0 && !r.orphans {
		r.t.Errorf("processes are left: %v", left)
	}
	for _, pid := range left { // This process may have adopted them for another test.
		_ = syscall.Kill(pid, syscall.SIGKILL)
		_, _ = syscall.Wait4(pid, nil, 0, nil)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(r.file), ".record-*")); len(left) > 0 {
		r.t.Errorf("files are left: %v", left)
	}
	return string(text)
}

// TestRecordPassesBytes checks that bytes that are no message are also forwarded, unchanged and immediately.
func TestRecordPassesBytes(t *testing.T) {
	noise := make([]byte, 300<<10)
	for i := range noise {
		noise[i] = byte(rand.Uint32())
	}
	for _, test := range []struct {
		name string
		wire []byte
	}{
		{"noise", noise},
		{"lines", []byte("{\"jsonrpc\":\"2.0\",\"method\":\"exit\"}\n{]\n\n\xff\xfe\n{")},
		{"headers", []byte("Content-Length: 5\r\n\r\n{\"a\"}Content-Length: x\r\n\r\n\x00\x01")},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := recording(t, 0, "cat")
			for wire := test.wire; len(wire) > 0; {
				n := min(len(wire), 1+rand.IntN(8000))
				if _, err := r.in.Write(wire[:n]); err != nil {
					t.Fatal(err)
				}
				got := make([]byte, n)
				if _, err := io.ReadFull(r.out, got); err != nil || !bytes.Equal(got, wire[:n]) {
					t.Fatalf("%q, not %q (%v)", got, wire[:n], err)
				}
				wire = wire[n:]
			}
			r.in.Close()
			if rest, err := io.ReadAll(r.out); err != nil || len(rest) > 0 {
				t.Errorf("%q, %v", rest, err)
			}
			if text := r.session(); r.what.Status != 0 || !strings.Contains(text, "-- raw --") || !strings.Contains(text, "(look here) the server sent what is no message") {
				t.Errorf("status %d\n%.2000s", r.what.Status, text)
			}
		})
	}
}

// asClient talks to the fake server through the recorder, waiting for the answers to each message.
func (r *recordedRun) asClient(framing string) {
	r.t.Helper()
	for i, m := range []string{
		`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}`, `{"jsonrpc":"2.0","method":"initialized","params":{}}`,
		`{"jsonrpc":"2.0","id":1,"method":"job/start","params":{"argv":["x"],"mode":"pipe"}}`, `{"jsonrpc":"2.0","id":2,"method":"job/get","params":{"handle":1}}`,
		`{"jsonrpc":"2.0","id":3,"method":"shutdown"}`,
	} {
		r.send(framing, m)
		answers := []int{1, 0, 6, 1, 1}[i]
		for range answers {
			r.receive(framing)
		}
	}
}

func (r *recordedRun) send(framing, m string) {
	r.t.Helper()
	if _, err := r.in.Write(wire.Frame(framing, []byte(m))); err != nil {
		r.t.Fatal(err)
	}
}

// receive reads one message byte by byte, so that nothing is read ahead.
func (r *recordedRun) receive(framing string) {
	r.t.Helper()
	if _, err := wire.ReadFrame(bufio.NewReader(iotest.OneByteReader(r.out)), framing); err != nil {
		r.t.Fatal(err)
	}
}

// TestRecordReplays checks that a session recorded in one framing passes in both.
func TestRecordReplays(t *testing.T) {
	t.Setenv(conformance.FaultVar, "")
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, framing := range []string{"header", "line"} {
		r := recording(t, 0, binary)
		r.asClient(framing)
		r.in.Close()
		text := r.session()
		if r.what.Status != 0 || len(r.what.Notes) > 0 || r.what.Steps < 6 {
			t.Errorf("%+v", r.what)
		}
		for _, again := range []string{"header", "line"} {
			if got := conformance.Play(t, "", again, text); got.Verdict != conformance.Passed {
				t.Errorf("recorded as %s, played as %s: %s\n%s", framing, again, got.Reason, text)
			}
		}
	}
}

// TestRecordEnds checks that after any end the session is written completely, and no process is left.
func TestRecordEnds(t *testing.T) {
	if err := conformance.AdoptOrphans(); err != nil { // to see them
		t.Fatal(err)
	}
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	stubborn := []string{"sh", "-c", `trap "" TERM INT HUP; echo '{"jsonrpc":"2.0","method":"log/message","params":{"level":"info","text":"ready"}}'; exec sleep 60`}
	for _, test := range []struct {
		name, fault string
		command     []string
		end         func(*recordedRun)
		status      int
		want        string
	}{
		{"the server dies", "dies at once", nil, func(*recordedRun) {}, 7, "the server ended by itself here, with exit status 7"},
		{"the client ends", "", nil, func(r *recordedRun) { r.asClient("line"); r.in.Close() }, 0, "-- close stdin --\n-- exit 0 --\n"},
		{"the client is gone", "", nil, func(r *recordedRun) { r.asClient("line"); r.out.Close(); r.in.Close() }, 0, "-- close stdin --\n-- exit 0 --\n"},
		{"the client reads no more", "", nil, func(r *recordedRun) {
			r.asClient("line")
			r.out.Close()
			r.send("line", `{"jsonrpc":"2.0","id":9,"method":"job/get","params":{"handle":1}}`)
		}, 0, "-- send get-2 --\n"},
		{"a message is cut", "", nil, func(r *recordedRun) {
			r.asClient("line")
			_, _ = r.in.WriteString(`{"jsonrpc":`) // The session shows whether it arrived.
			r.in.Close()
		}, 0, "-- raw --\n{\"jsonrpc\":\n-- close stdin --\n"},
		{"TERM", "silent", nil, func(r *recordedRun) { r.signals <- syscall.SIGTERM }, 143, "-- signal TERM --\n"},
		{"INT", "silent", nil, func(r *recordedRun) { r.signals <- os.Interrupt }, 130, "-- signal INT --\n"},
		{"a server that does not end", "", stubborn, func(r *recordedRun) { r.receive("line"); r.signals <- syscall.SIGTERM }, 137, "(exit status 137)"},
		{"a second signal", "", stubborn, func(r *recordedRun) {
			r.receive("line")
			r.signals <- syscall.SIGHUP
			r.signals <- syscall.SIGTERM
		}, 137, "-- signal HUP --\n-- signal TERM --\n"},
		{"stdout is held", "holds stdout", nil, func(r *recordedRun) { r.orphans = true; r.asClient("line"); r.in.Close() }, 0, "-- exit 0 --\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv(conformance.FaultVar, test.fault)
			command := test.command
			if command == nil {
				command = []string{binary}
			}
			grace := time.Minute
			if test.name == "a server that does not end" {
				grace = time.Millisecond
			}
			r := recording(t, grace, command...)
			test.end(r)
			if text := r.session(); r.what.Status != test.status || !strings.Contains(text, test.want) {
				t.Errorf("status %d, and expected %q in\n%s", r.what.Status, test.want, text)
			}
		})
	}
}

// TestRecordFails checks that a recording that cannot start fails immediately.
func TestRecordFails(t *testing.T) {
	r := recording(t, 0, "./no-such-server")
	if <-r.done; r.err == nil || r.what.Status != 2 {
		t.Error(r.err, r.what)
	}
	rec := &record.Recorder{Contract: conformance.LoadedContract(t), Command: []string{"cat"}, File: filepath.Join(t.TempDir(), "nowhere", "s.txtar")}
	if _, err := rec.Record(); err == nil || !strings.Contains(err.Error(), "no file can be made in the directory of") {
		t.Error(err)
	}
}
