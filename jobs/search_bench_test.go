package jobs

import (
	"bytes"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"shelld.dev/shelld/jobs/internal/spool"
)

var searchMiB = flag.Int("searchmib", 64, "how many MiB of output BenchmarkSearch searches")

// benchOutput returns a manager with a job whose output is only in a file, as after the job was closed, and the path of
// the file: log lines, one in five coloured if colour is set, and at the end the line to be found.
func benchOutput(b *testing.B, colour bool) (*Manager, string) {
	b.Helper()
	return benchStored(b, colour, 0, 2*int64(*searchMiB)<<20)
}

// benchStored is like benchOutput, but keeps only a head and a tail of the output.
func benchStored(b *testing.B, colour bool, head, tail int64) (*Manager, string) {
	b.Helper()
	path := filepath.Join(b.TempDir(), "stdout.txt")
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		b.Fatal(err)
	}
	size := int64(*searchMiB) << 20
	s := spool.Open(spool.Options{Memory: 256 << 10, File: f, DiskHead: head, DiskTail: tail})
	var lines bytes.Buffer
	for i := 0; s.End() < size; i++ {
		if colour && i%5 == 0 {
			fmt.Fprintf(&lines, "\x1b[32m[%4d/9000]\x1b[0m compiling module number %d of the project\r\n", i%9000, i)
		} else {
			fmt.Fprintf(&lines, "  src/pkg/file%d.go:%d: note: nothing to see here, moving on to the next one\n", i, i%700)
		}
		if lines.Len() > 64<<10 {
			s.Append(lines.Bytes())
			lines.Reset()
		}
	}
	s.Append([]byte("Segmentation fault (core dumped)\n"))
	if err := s.Finish(); err != nil {
		b.Fatal(err)
	}
	m := newManager(slog.New(slog.DiscardHandler))
	j := withParts(&actor{Job: Job{base: base{id: 1, mgr: &m.services}}})
	j.output.streams = []*stream{{name: Stdout, spool: s}}
	j.public.Store(&Info{})
	m.registry.jobs[1] = &j.Job
	return m, path
}

// BenchmarkSearch searches for a line that is only at the end, and compares with grep.
func BenchmarkSearch(b *testing.B) {
	for _, kind := range []struct {
		name   string
		colour bool
	}{{"log", false}, {"coloured log", true}} {
		b.Run(kind.name, func(b *testing.B) {
			m, path := benchOutput(b, kind.colour)
			for _, bench := range []struct {
				name string
				spec SearchSpec
				grep []string
			}{
				{"literal", SearchSpec{Literal: "Segmentation fault"}, []string{"-aF", "Segmentation fault"}},
				{"literal, raw", SearchSpec{Literal: "Segmentation fault", Raw: true}, nil},
				{"literal ignoring case", SearchSpec{Literal: "segmentation FAULT", Flags: "i"}, []string{"-aiF", "segmentation FAULT"}},
				{"literal backwards", SearchSpec{Literal: "Segmentation fault", Reverse: true, MaxMatches: 2}, nil},
				{"pattern with a text", SearchSpec{Pattern: `^Segm\w+ fault`, Flags: "m"}, []string{"-aE", `^Segm\w+ fault`}},
				{"pattern without", SearchSpec{Pattern: `fault|[Pp]anic:|Traceback`, Flags: "m"}, []string{"-aE", "fault|[Pp]anic:|Traceback"}},
			} {
				b.Run(bench.name, func(b *testing.B) { searchAll(b, m, bench.spec) })
				if bench.grep != nil {
					b.Run(bench.name+", grep", func(b *testing.B) { grepAll(b, append(bench.grep, path)) })
				}
			}
			b.Run("in the last MiB", func(b *testing.B) {
				searchAll(b, m, SearchSpec{Literal: "Segmentation fault", Reverse: true, From: ptr(int64(-1 << 20))})
			})
		})
	}
}

// BenchmarkSearchCapped does the same with the part of that output that the default limit of 64 MiB keeps.
func BenchmarkSearchCapped(b *testing.B) {
	m, path := benchStored(b, false, 8<<20, 56<<20)
	info, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	b.Logf("%d bytes are kept of %d", info.Size(), m.registry.jobs[1].End(Stdout))
	for _, bench := range []struct {
		name string
		spec SearchSpec
	}{
		{"literal", SearchSpec{Literal: "Segmentation fault"}},
		{"literal backwards", SearchSpec{Literal: "Segmentation fault", Reverse: true, MaxMatches: 2}},
		{"pattern", SearchSpec{Pattern: `fault|[Pp]anic:|Traceback`, Flags: "m"}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			searchAll(b, m, bench.spec)
			b.SetBytes(info.Size())
		})
	}
	b.Run("literal, grep", func(b *testing.B) { grepAll(b, []string{"-aF", "Segmentation fault", path}) })
}

func searchAll(b *testing.B, m *Manager, spec SearchSpec) {
	b.Helper()
	spec.MaxMatches, spec.MaxBytes, spec.Timeout = max(spec.MaxMatches, 100), 1<<20, -1
	if err := spec.Compile(); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(m.registry.jobs[1].End(Stdout))
	b.ReportAllocs()
	for b.Loop() {
		res, err := m.Search(&spec, m.SearchTargets(""), nil)
		if err != nil || len(res.Matches) != 1 {
			b.Fatalf("%d matches, %v", len(res.Matches), err)
		}
	}
}

func grepAll(b *testing.B, args []string) {
	b.Helper()
	if _, err := exec.LookPath("grep"); err != nil {
		b.Skip(err)
	}
	info, err := os.Stat(args[len(args)-1])
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(info.Size())
	for b.Loop() {
		cmd := exec.Command("grep", args...)
		cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8")
		if out, err := cmd.Output(); err != nil || bytes.Count(out, []byte("\n")) != 1 {
			b.Fatalf("%q, %v", out, err)
		}
	}
}
