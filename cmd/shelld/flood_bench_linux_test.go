package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"shelld.dev/shelld/schema"
)

// floodBytes is the output of one run of BenchmarkOutput.
const floodBytes = 64 << 20

// BenchmarkOutput prints a file of 64 MiB, and measures until all of it and the exit have been received. The client
// decodes the output and compares its checksum with that of the file.
func BenchmarkOutput(b *testing.B) {
	for _, text := range []string{"plain", "coloured"} {
		file, sum, size := floodFile(b, text)
		for _, mode := range []schema.Mode{schema.ModePty, schema.ModePipe} {
			// The terminal changes nothing, so that both modes transfer the same bytes.
			argv := []string{"sh", "-c", "stty -opost 2>/dev/null; exec cat " + file}
			b.Run(fmt.Sprintf("bare/%s/%s", mode, text), func(b *testing.B) {
				b.SetBytes(size)
				for b.Loop() {
					got := crc32.NewIEEE()
					if n := bareOutput(b, mode, argv, got); n != size || got.Sum32() != sum {
						b.Fatalf("%d bytes came of %d, or others", n, size)
					}
				}
			})
			for _, encoding := range []schema.Encoding{schema.EncodingText, schema.EncodingBase64} {
				b.Run(fmt.Sprintf("shelld/%s/%s/%s", mode, text, encoding), func(b *testing.B) {
					s := serveBenchWith(b, schema.Options{
						Events: []string{"output", "exited"}, Encoding: &encoding,
						Limits: &schema.LimitOptions{SpoolDiskBytes: ptr(int64(4 * floodBytes))}, // enough for a pipe, which is faster than any client reads
					})
					b.SetBytes(size)
					for b.Loop() {
						s.flood(mode, argv, sum, size)
					}
				})
			}
		}
	}
}

// floodFile makes a file of log lines, and returns its checksum and length.
func floodFile(b *testing.B, text string) (path string, sum uint32, size int64) {
	b.Helper()
	var block bytes.Buffer
	for i := 0; block.Len() < 1<<20; i++ {
		if text == "plain" {
			fmt.Fprintf(&block, "2026-11-20T12:34:56.%03dZ INFO  worker %d: request served in %d ms\n", i%1000, i%8, i%97)
		} else {
			fmt.Fprintf(&block, "\x1b[1;32m   Compiling\x1b[0m \x1b[38;5;%dmcrate-%d\x1b[0m v0.%d.1 ✓ (\x1b[2m%d ms\x1b[0m)\n", i%256, i, i%40, i%97)
		}
	}
	path = filepath.Join(b.TempDir(), text)
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	h := crc32.NewIEEE()
	for size < floodBytes {
		n, err := io.MultiWriter(f, h).Write(block.Bytes())
		if err != nil {
			b.Fatal(err)
		}
		size += int64(n)
	}
	return path, h.Sum32(), size
}

// bareOutput reads all output of a command.
func bareOutput(b *testing.B, mode schema.Mode, argv []string, to io.Writer) int64 {
	b.Helper()
	n, _ := io.CopyBuffer(to, struct{ io.Reader }{openOutput(b, mode, argv[2])}, make([]byte, 64<<10)) // A terminal ends with an error.
	return n
}

// openOutput starts a command and returns the file to read its output from.
func openOutput(b *testing.B, mode schema.Mode, command string) *os.File {
	b.Helper()
	if mode == schema.ModePty {
		return openBare(b, command).file
	}
	r, w, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", command)
	cmd.Stdout = w
	err = cmd.Start()
	_ = w.Close()
	b.Cleanup(func() { _ = r.Close() })
	if err != nil {
		b.Fatal(err)
	}
	endWith(b, cmd)
	return r
}

// flood runs a command and receives its output to the end.
func (s *benchServer) flood(mode schema.Mode, argv []string, sum uint32, size int64) {
	s.b.Helper()
	s.start(schema.JobStartParams{Argv: argv, Mode: &mode})
	s.receives(sum, size)
}

// receives takes output to the end of its job.
func (s *benchServer) receives(sum uint32, size int64) {
	s.b.Helper()
	got, n := crc32.NewIEEE(), int64(0)
	for note := range s.notices {
		switch note.Method {
		case "job/output":
			var e schema.JobOutputParams
			if err := json.Unmarshal(note.Params, &e); err != nil {
				s.b.Error(err)
			}
			switch {
			case e.Gap != nil:
				s.b.Errorf("a gap: %+v", *e.Gap)
			case e.Text != nil:
				_, _ = io.WriteString(got, *e.Text)
			case e.Base64 != nil:
				_, _ = io.Copy(got, base64.NewDecoder(base64.StdEncoding, strings.NewReader(*e.Base64)))
			}
			n += e.Bytes
		case "job/exited":
			if n != size || got.Sum32() != sum {
				s.b.Errorf("%d bytes came of %d, or others", n, size)
			}
			return
		}
	}
}

// BenchmarkEchoBesideFlood is BenchmarkEcho while another job prints endlessly, and the client receives all of it.
func BenchmarkEchoBesideFlood(b *testing.B) {
	const cat = "stty raw -echo; echo ready; exec cat"
	for _, mode := range []schema.Mode{schema.ModePty, schema.ModePipe} {
		b.Run("bare/"+string(mode), func(b *testing.B) {
			flood := openOutput(b, mode, "exec yes")
			go func() { _, _ = io.Copy(io.Discard, flood) }() // It ends with the benchmark.
			t := openBare(b, cat)
			t.until("ready\n")
			measure(b, 0, func() { t.write("x"); t.until("x") })
		})
		b.Run("shelld/"+string(mode), func(b *testing.B) {
			s := serveBench(b, "output")
			handle := s.start(schema.JobStartParams{Argv: []string{"sh", "-c", cat}})
			offset := int64(0)
			for got := ""; !strings.HasSuffix(got, "ready\n"); {
				got += s.output(&offset)
			}
			s.ignore.Store(ptr(`{"handle":2,`))
			s.start(schema.JobStartParams{Argv: []string{"yes"}, Mode: &mode})
			measure(b, s.cmd.Process.Pid, func() {
				s.call("job/write", schema.JobWriteParams{Handle: handle, Input: ptr("x")}, nil)
				s.output(&offset)
			})
			if s.ignored.Load() == 0 {
				b.Error("nothing came of the flood")
			}
		})
	}
}

// ignores reports whether the benchmark ignores a notification.
func (s *benchServer) ignores(params []byte) bool {
	prefix := s.ignore.Load()
	if prefix == nil || !bytes.HasPrefix(params, []byte(*prefix)) {
		return false
	}
	s.ignored.Add(1)
	return true
}

// ignoring makes a benchmark ignore the notifications of a job, by the prefix of their params, which is the cheapest
// test.
type ignoring struct {
	ignore  atomic.Pointer[string]
	ignored atomic.Int64
}
