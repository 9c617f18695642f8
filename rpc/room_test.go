package rpc_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"shelld.dev/shelld/jobs"
	"shelld.dev/shelld/rpc"
	"shelld.dev/shelld/schema"
)

// A bulk is a client that pipelines requests for long answers and keeps none of them.
type bulk struct {
	t       *testing.T
	in      *io.PipeWriter
	out     *bufio.Reader
	over    chan error // the result of Serve, and then that of Close
	base    uint64     // memory in use before
	largest uint64     // maximum in use beyond base
	sent    atomic.Int64
}

// startBulk runs a server and initializes it.
func startBulk(t *testing.T) *bulk {
	t.Helper()
	if len(jobs.Platform().Modes) == 0 {
		t.Skip("there are no jobs on this system")
	}
	m, err := jobs.NewManager(jobs.Options{Root: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	inR, inW := io.Pipe()
	outR, outW := newPipe(t)
	b := &bulk{t: t, in: inW, out: bufio.NewReaderSize(outR, 256<<10), over: make(chan error, 2)}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, err := rpc.Serve(ctx, inR, outW, m, rpc.Options{Framing: rpc.FramingLine})
		_ = inR.Close()
		_ = outW.Close()
		b.over <- err
		b.over <- m.Close()
	}()
	t.Cleanup(func() {
		cancel()
		_ = inW.Close()
		_ = outR.Close()
		<-b.over
		if err := <-b.over; err != nil {
			t.Error(err)
		}
	})
	b.ask("initialize", obj{"options": obj{"events": []string{}}})
	b.inUse()
	return b
}

// send sends requests without waiting for their answers, in a goroutine: the server may not read.
func (b *bulk) send(requests ...obj) {
	var text bytes.Buffer
	for _, r := range requests {
		r["jsonrpc"], r["id"] = "2.0", b.sent.Add(1)
		text.WriteString(encode(r) + "\n")
	}
	go func() { _, _ = b.in.Write(text.Bytes()) }() // It fails if the server has ended, which the test notices.
}

// next reads one message.
func (b *bulk) next() []byte {
	b.t.Helper()
	body, err := b.out.ReadBytes('\n')
	if err != nil {
		b.t.Fatalf("the server's output ends: %v", err)
	}
	return body
}

func (b *bulk) ask(method string, params obj) json.RawMessage {
	b.t.Helper()
	b.send(obj{"method": method, "params": params})
	var a answer
	if err := json.Unmarshal(b.next(), &a); err != nil || a.Error != nil {
		b.t.Fatalf("%s: %v %+v", method, err, a.Error)
	}
	return a.Result
}

// answers reads so many answers and returns how many of them are longer than length. Now and then it checks the memory
// in use.
func (b *bulk) answers(n, length int) (long int) {
	b.t.Helper()
	for i := range n {
		body := b.next()
		if bytes.HasPrefix(body[:min(len(body), 80)], []byte(`{"jsonrpc":"2.0","id":`)) && bytes.Contains(body[:min(len(body), 80)], []byte(`"error"`)) {
			b.t.Fatalf("refused: %.300s", body)
		}
		if len(body) > length {
			long++
		}
		if i%10 == 0 {
			b.inUse()
		}
	}
	return long
}

// inUse records the memory in use; the first time it sets the base. The server allocates while this is measured, so
// that more than the bound counts only if it is found several times: garbage is collected in between.
func (b *bulk) inUse() {
	least := uint64(math.MaxUint64)
	for range 4 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		if least = min(least, m.HeapAlloc); least <= b.base+bulkBound {
			break
		}
	}
	if b.base == 0 {
		b.base = least
	}
	b.largest = max(b.largest, least-min(b.base, least))
}

// bulkBound is the maximum memory of a server for unread answers: queued ones, and ones that are being made, as text
// and encoded; the test's own buffers; and garbage that is not collected yet.
const bulkBound = 96 << 20

// shortBound is the same for many short answers, each of which has a goroutine.
const shortBound = 128 << 20

func (b *bulk) checkUse() {
	b.t.Helper()
	b.t.Logf("at most %d MiB were in use", b.largest>>20)
	if b.largest > bulkBound {
		b.t.Errorf("%d MiB were in use, more than %d", b.largest>>20, bulkBound>>20)
	}
}

// bulkOutput starts a job that writes somewhat more than 1 MiB and closes.
func (b *bulk) bulkOutput() (handle int64) {
	b.t.Helper()
	var r schema.JobStartResult
	started := b.ask("job/start", obj{"command": "head -c 1200000 /dev/zero | tr '\\0' x", "shell": "sh", "mode": "pipe", "stderr": "merge",
		"wait": obj{"until": []obj{{"closed": true}}, "maxBytes": 0, "timeoutMs": nil}})
	if err := json.Unmarshal(started, &r); err != nil {
		b.t.Fatal(err)
	}
	return r.Job.Handle
}

func repeated(n int, method string, params obj) (all []obj) {
	for range n {
		all = append(all, obj{"method": method, "params": params})
	}
	return all
}

// TestPipelinedReads: a client that reads as fast as it can gets all answers, however large they are.
func TestPipelinedReads(t *testing.T) {
	for _, n := range []int{60, scaled(1000, 200, 80)} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			b := startBulk(t)
			h := b.bulkOutput()
			b.send(repeated(n, "job/read", obj{"handle": h, "offset": 0, "maxBytes": 1 << 20})...)
			equal(t, "whole answers", b.answers(n, 1<<20), n)
			b.checkUse()
		})
	}
}

// TestPipelinedLongAnswers: the same for every other request whose answer may be long.
func TestPipelinedLongAnswers(t *testing.T) {
	const length = 900_000
	value := strings.Repeat("v", 100<<10)
	for _, c := range []struct {
		name    string
		n       int
		prepare func(b *bulk, h int64)
		method  string
		params  func(h int64) obj
	}{
		{"wait", 80, nil, "job/wait", func(h int64) obj {
			return obj{"handle": h, "until": []obj{{"closed": true}}, "from": "start", "maxBytes": 1 << 20}
		}},
		{"search", 20, nil, "job/search", func(h int64) obj {
			return obj{"handle": h, "pattern": "x{2000}", "maxMatches": 1000, "maxBytes": 1 << 20}
		}},
		{"run", 20, nil, "job/run", func(int64) obj {
			return obj{"command": "head -c 1200000 /dev/zero | tr '\\0' x", "shell": "sh", "maxBytes": 1 << 20, "timeoutMs": nil}
		}},
		{"environment", 80, func(b *bulk, _ int64) {
			for i := range 10 {
				b.ask("env/set", obj{"name": fmt.Sprint("LONG", i), "value": value})
			}
		}, "env/list", func(int64) obj { return obj{} }},
		{"list", 40, func(b *bulk, _ int64) {
			for range 10 {
				b.ask("job/start", obj{"argv": []string{"true", value}, "mode": "pipe", "wait": obj{"until": []obj{{"closed": true}}}})
			}
		}, "job/list", func(int64) obj { return obj{} }},
		{"screen", 20, func(b *bulk, _ int64) {
			b.ask("job/start", obj{"name": "term", "cols": 300, "rows": 100, "shell": "sh",
				"command": "i=0; while [ $i -lt 20000 ]; do printf '\\033[3%dmx\\033[4%dm ' $((i % 8)) $(((i + 1) % 8)); i=$((i + 1)); done",
				"wait":    obj{"until": []obj{{"closed": true}}, "timeoutMs": nil}})
		}, "job/screen", func(int64) obj { return obj{"handle": "term", "format": "cells", "scrollback": 300} }},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := startBulk(t)
			h := b.bulkOutput()
			if c.prepare != nil {
				c.prepare(b, h)
			}
			n := scaled(c.n, c.n, c.n/4)
			b.send(repeated(n, c.method, c.params(h))...)
			equal(t, "whole answers", b.answers(n, length), n)
			b.checkUse()
		})
	}
}

// TestUnreadLongAnswers: for a client that reads nothing the memory is bounded. Its requests take effect, and small
// answers are not delayed by large ones that wait: they are there as soon as it reads.
func TestUnreadLongAnswers(t *testing.T) {
	const n = 1000
	b := startBulk(t)
	h := b.bulkOutput()
	awaitEnd := startOther(t, b)
	b.send(append(repeated(n, "job/read", obj{"handle": h, "offset": 0, "maxBytes": 1 << 20}),
		obj{"method": "job/list", "params": obj{}}, obj{"method": "job/get", "params": obj{"handle": h}}, killOther())...)
	awaitEnd()
	b.inUse()
	const some = 100
	equal(t, "long answers among the first", b.answers(some, 1<<20), some-3)
	b.checkUse()
}

// killOther is for the end of pipelined requests: once the job of startOther has ended, the server has read all of
// them.
func killOther() obj { return obj{"method": "job/kill", "params": obj{"handle": "other"}} }

// startOther starts a job, and returns a function that waits for its end, which closes the fifo that the job holds.
func startOther(t *testing.T, b *bulk) (awaitEnd func()) {
	t.Helper()
	alive := newFifo(t)
	// A fifo that is opened for reading and writing needs no other opener.
	b.ask("job/start", obj{"name": "other", "command": "exec 3<>" + alive.path + "; echo up; exec sleep 1000", "shell": "sh", "mode": "pipe",
		"wait": obj{"until": []obj{{"pattern": "up"}}, "timeoutMs": nil}})
	end, err := os.OpenFile(alive.path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = end.Close() })
	return func() {
		t.Helper()
		_ = end.SetReadDeadline(time.Now().Add(watchdog))
		if n, err := end.Read(make([]byte, 1)); n != 0 || err != io.EOF {
			t.Fatalf("the other job has not ended: %d, %v", n, err)
		}
	}
}

// TestUnreadAnswersThatExpand: JSON takes six bytes for a control character: output that is short makes an answer that
// is not.
func TestUnreadAnswersThatExpand(t *testing.T) {
	const n = 5000
	b := startBulk(t)
	var r schema.JobStartResult
	if err := json.Unmarshal(b.ask("job/start", obj{"command": "head -c 100000 /dev/zero | tr '\\0' '\\1'", "shell": "sh", "mode": "pipe", "stderr": "merge",
		"wait": obj{"until": []obj{{"closed": true}}, "maxBytes": 0, "timeoutMs": nil}}), &r); err != nil {
		t.Fatal(err)
	}
	awaitEnd := startOther(t, b)
	b.send(append(repeated(n, "job/read", obj{"handle": r.Job.Handle, "offset": 0, "maxBytes": 4096}), killOther())...)
	awaitEnd()
	b.inUse()
	b.answers(100, 0)
	b.checkUse()
}

// shortAnswers returns n requests with answers of some 3.5 kB, which do not wait.
func (b *bulk) shortAnswers(n int) []obj {
	b.ask("job/start", obj{"argv": []string{"true", strings.Repeat("x", 2500)}, "name": "short", "mode": "pipe", "wait": obj{"until": []obj{{"closed": true}}}})
	return repeated(n, "job/get", obj{"handle": "short"})
}

// TestPipelinedShortAnswers: a client that reads gets all its short answers, even if it reads more slowly than they are
// made: this one collects its garbage after every tenth of the first.
func TestPipelinedShortAnswers(t *testing.T) {
	const n = 40_000
	b := startBulk(t)
	b.send(append(b.shortAnswers(n), obj{"method": "job/kill", "params": obj{"handle": "short"}})...)
	const slowly = 2000
	b.answers(slowly, 0)
	for range n + 1 - slowly {
		b.next()
	}
	b.inUse()
	t.Logf("at most %d MiB were in use", b.largest>>20)
	if b.largest > shortBound { // All of them take 240 MB.
		t.Errorf("%d MiB were in use, more than %d", b.largest>>20, shortBound>>20)
	}
}

// TestUnreadShortAnswersDisconnect: the connection of a client that reads none of them while it goes on sending requests
// is given up, and the server ends.
func TestUnreadShortAnswersDisconnect(t *testing.T) {
	t.Parallel()
	b := startBulk(t)
	b.send(b.shortAnswers(40_000)...)
	select {
	case err := <-b.over:
		if err == nil || !strings.Contains(err.Error(), "has not read the answers") {
			t.Errorf("the server ended with %v", err)
		}
		b.over <- nil
	case <-time.After(watchdog):
		t.Error("the server does not end")
	}
}

// TestLongAnswersBehindTheEnd: a client that sends many requests and then closes its side is answered as long as it
// reads.
func TestLongAnswersBehindTheEnd(t *testing.T) {
	const n = 100
	b := startBulk(t)
	h := b.bulkOutput()
	for _, r := range repeated(n, "job/read", obj{"handle": h, "offset": 0, "maxBytes": 1 << 20}) {
		r["jsonrpc"], r["id"] = "2.0", b.sent.Add(1)
		if _, err := b.in.Write([]byte(encode(r) + "\n")); err != nil {
			t.Fatal(err)
		}
	}
	_ = b.in.Close()
	equal(t, "whole answers", b.answers(n, 1<<20), n)
	if rest, err := io.ReadAll(b.out); err != nil || len(rest) > 0 {
		t.Errorf("behind the answers: %.100q, %v", rest, err)
	}
}

// TestUnreadLongAnswersDisconnect: if it then reads nothing, its connection is given up, and the server ends.
func TestUnreadLongAnswersDisconnect(t *testing.T) {
	t.Parallel()
	b := startBulk(t)
	h := b.bulkOutput()
	for _, r := range repeated(200, "job/read", obj{"handle": h, "offset": 0, "maxBytes": 1 << 20}) {
		r["jsonrpc"], r["id"] = "2.0", b.sent.Add(1)
		if _, err := b.in.Write([]byte(encode(r) + "\n")); err != nil {
			t.Fatal(err)
		}
	}
	_ = b.in.Close()
	select {
	case err := <-b.over:
		if err == nil || !strings.Contains(err.Error(), "has accepted no data") {
			t.Errorf("the server ended with %v", err)
		}
		b.over <- nil
	case <-time.After(watchdog):
		t.Error("the server does not end")
	}
}

// TestLongReadsBeforeARemoval: pipelined requests of a job are answered even if the job is removed after them.
func TestLongReadsBeforeARemoval(t *testing.T) {
	const n = 30
	b := startBulk(t)
	h := b.bulkOutput()
	b.send(append(repeated(n, "job/read", obj{"handle": h, "offset": 0, "maxBytes": 1 << 20}), obj{"method": "job/remove", "params": obj{"handle": h}})...)
	equal(t, "whole answers", b.answers(n+1, 1<<20), n)
}
