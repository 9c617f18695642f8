package main

import (
	"bufio"
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"shelld.dev/shelld/schema"
)

var searchMiB = flag.Int64("searchmib", 64, "how many MiB of output BenchmarkJobsSearch searches")

// BenchmarkJobsSearch searches for a text in the last line of a job's output: from the command line, with job/search,
// and with grep in the same file, in turn.
func BenchmarkJobsSearch(b *testing.B) {
	for _, coloured := range []bool{false, true} {
		b.Run(map[bool]string{false: "log", true: "coloured log"}[coloured], func(b *testing.B) {
			o := storeBench(b, coloured)
			for _, what := range []struct {
				name   string
				flags  []string
				grep   []string // flags of grep
				search string
				params schema.JobSearchParams
			}{
				{"literal", []string{"-F"}, []string{"-aF"}, "Segmentation fault", schema.JobSearchParams{Literal: ptr("Segmentation fault")}},
				{"literal ignoring case", []string{"-F", "-i"}, []string{"-aiF"}, "segmentation FAULT", schema.JobSearchParams{Literal: ptr("segmentation FAULT"), Flags: ptr("i")}},
				{"pattern with a text", nil, []string{"-aE"}, `^Segm\w+ fault`, schema.JobSearchParams{Pattern: ptr(`^Segm\w+ fault`)}},
				{"pattern without", nil, []string{"-aE"}, "fault|[Pp]anic:|Traceback", schema.JobSearchParams{Pattern: ptr("fault|[Pp]anic:|Traceback")}},
			} {
				b.Run(what.name, func(b *testing.B) {
					var byGrep, byCommand, byServer []time.Duration
					what.params.Handle, what.params.TimeoutMs = handleOf(1), schema.NullOf[int64]()
					for b.Loop() {
						byGrep = append(byGrep, o.found("grep", append(slices.Clone(what.grep), what.search, o.file)...))
						byCommand = append(byCommand, o.found(cmp.Or(os.Getenv("SHELLD_BENCH"), "shelld"), append([]string{"jobs", "search", "-dir", o.state, what.search}, what.flags...)...))
						byServer = append(byServer, o.asked(what.params))
					}
					ms := func(all []time.Duration) float64 { return float64(middle(all).Microseconds()) / 1e3 }
					b.ReportMetric(ms(byCommand), "ms-command")
					b.ReportMetric(ms(byServer), "ms-server")
					b.ReportMetric(ms(byGrep), "ms-grep")
					b.ReportMetric(ms(byCommand)/ms(byGrep), "times-grep")
					b.ReportMetric(0, "ns/op")
				})
			}
		})
	}
}

func middle(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

// A storedBench is a server that has stored the output of a job.
type storedBench struct {
	*benchServer
	state, file string
}

// storeBench has a job print a log of which only the last line matches; with coloured, one line in five is coloured.
func storeBench(b *testing.B, coloured bool) *storedBench {
	b.Helper()
	o := &storedBench{state: b.TempDir()}
	log := filepath.Join(b.TempDir(), "log")
	writeLog(b, log, coloured)
	o.benchServer = serveBenchWith(b, schema.Options{
		Events:  []string{"closed"},
		Persist: &schema.PersistOptions{Directory: &o.state}, Limits: &schema.LimitOptions{SpoolDiskBytes: ptr(*searchMiB << 21)},
	})
	o.start(schema.JobStartParams{Argv: []string{"cat", log}, Mode: ptr(schema.ModePipe)})
	var closed schema.JobClosedParams
	o.await("job/closed", &closed)
	files, err := filepath.Glob(filepath.Join(o.state, "*", "1", "stdout.txt"))
	if err != nil || len(files) != 1 {
		b.Fatalf("the output is in %v, %v", files, err)
	}
	o.file = files[0]
	return o
}

func writeLog(b *testing.B, path string, coloured bool) {
	b.Helper()
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	w := bufio.NewWriterSize(f, 1<<20)
	for i, n := 0, int64(0); n < *searchMiB<<20; i++ {
		var written int
		if coloured && i%5 == 0 {
			written, _ = fmt.Fprintf(w, "\x1b[32m[%4d/9000]\x1b[0m compiling module number %d of the project\r\n", i%9000, i)
		} else {
			written, _ = fmt.Fprintf(w, "  src/pkg/file%d.go:%d: note: nothing to see here, moving on to the next one\n", i, i%700)
		}
		n += int64(written)
	}
	fmt.Fprintln(w, "Segmentation fault (core dumped)")
	if err := w.Flush(); err != nil { // It also returns earlier errors.
		b.Fatal(err)
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
}

// found returns the time of a command that finds one line.
func (o *storedBench) found(name string, args ...string) time.Duration {
	o.b.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8")
	cmd.Stderr = os.Stderr
	began := time.Now()
	out, err := cmd.Output()
	took := time.Since(began)
	if err != nil || bytes.Count(out, []byte("\n")) != 1 {
		o.b.Fatalf("%q: %q, %v", args, out, err)
	}
	return took
}

// asked returns the time of the server for the same search.
func (o *storedBench) asked(p schema.JobSearchParams) time.Duration {
	o.b.Helper()
	var r schema.JobSearchResult
	began := time.Now()
	o.call("job/search", p, &r)
	took := time.Since(began)
	if len(r.Matches) != 1 || r.Truncated {
		o.b.Fatalf("%+v", r)
	}
	return took
}
