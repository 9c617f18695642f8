package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"shelld.dev/shelld/schema"
	"shelld.dev/shelld/session"
)

// connectBench attaches a client to a session, whose host is started if there is none.
func connectBench(b *testing.B, dir string, s schema.SessionParams, events ...string) *benchServer {
	b.Helper()
	c := startBench(b, "connect", "-session", "bench", "-dir", dir)
	c.call("initialize", schema.InitializeParams{Session: &s, Options: &schema.Options{
		Events: events, Limits: &schema.LimitOptions{SpoolDiskBytes: ptr(int64(4 * floodBytes))},
	}}, nil)
	text, err := os.ReadFile(filepath.Join(dir, "bench", "host.json"))
	if err != nil {
		b.Fatal(err)
	}
	var host session.Info
	if err := json.Unmarshal(text, &host); err != nil {
		b.Fatal(err)
	}
	c.pid = host.PID
	return c
}

// short ends the host soon after the benchmark.
func short() schema.SessionParams {
	return schema.SessionParams{Lease: &schema.SessionLeaseOptions{IdleMs: ptr(int64(0))}, Jobs: &schema.SessionJobOptions{GraceMs: ptr(int64(0))}}
}

// BenchmarkConnect compares a server that is a child process with one that is the host of a session. Run it with
// -count=5 or more: the two take turns.
func BenchmarkConnect(b *testing.B) {
	for _, one := range []struct {
		name, event string
		run         func(*benchServer)
	}{
		{"start", "exited", func(s *benchServer) { s.startsToExit(schema.ModePipe) }},
		{"echo", "output", (*benchServer).echoes},
		{"prompt", "patternMatched", (*benchServer).prompts},
	} {
		b.Run(one.name+"/serve", func(b *testing.B) { one.run(serveBench(b, one.event)) })
		b.Run(one.name+"/connect", func(b *testing.B) { one.run(connectBench(b, b.TempDir(), short(), one.event)) })
	}
}

// BenchmarkAttach attaches to a session with 64 MiB of output that nobody has been sent, and measures until the first byte
// of it comes.
func BenchmarkAttach(b *testing.B) {
	const behind = 64 << 20
	dir := b.TempDir()
	first := connectBench(b, dir, short())
	first.start(schema.JobStartParams{
		Argv: []string{"sh", "-c", fmt.Sprintf("head -c %d /dev/zero | tr '\\0' x; exec sleep 1000", behind)}, Mode: ptr(schema.ModePipe),
		Wait: &schema.Wait{Until: []schema.Condition{{Bytes: ptr(int64(behind))}}, TimeoutMs: schema.NullOf[int64](), Format: ptr(schema.WaitFormatText), MaxBytes: ptr(int64(1))},
	})
	ask := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"session":{"clientId":"b","resume":[{"handle":1,"from":"start","events":["output"]}]}}}` + "\n"
	var l []time.Duration
	for b.Loop() {
		begun := time.Now()
		s := exec.Command(cmp.Or(os.Getenv("SHELLD_BENCH"), "shelld"), "connect", "-session", "bench", "-dir", dir)
		in, out := startPiped(b, s)
		_, _ = io.WriteString(in, ask)
		r := bufio.NewReader(out)
		for range 2 {
			if _, err := r.ReadString('\n'); err != nil {
				b.Fatal(err)
			}
		}
		l = append(l, time.Since(begun))
		_ = s.Process.Kill()
		_ = s.Wait()
	}
	report(b, l)
}

// BenchmarkViewers has several clients receive all of one job's output.
func BenchmarkViewers(b *testing.B) {
	file, sum, size := floodFile(b, "plain")
	for _, n := range []int{1, 4} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			dir := b.TempDir()
			all := []*benchServer{connectBench(b, dir, short(), "output", "exited")}
			for len(all) < n {
				all = append(all, connectBench(b, dir, schema.SessionParams{}, "output", "exited"))
			}
			b.SetBytes(size)
			for b.Loop() {
				handle := all[0].start(schema.JobStartParams{Argv: []string{"sh", "-c", "exec cat " + file}, Mode: ptr(schema.ModePipe)})
				var receiving sync.WaitGroup
				for i, s := range all {
					if i > 0 {
						s.call("job/subscribe", schema.JobSubscribeParams{Handle: handle, From: json.RawMessage(`"start"`)}, nil)
					}
					receiving.Go(func() { s.receives(sum, size) })
				}
				receiving.Wait()
			}
		})
	}
}
