package main

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"shelld.dev/shelld/schema"
)

// BenchmarkScreen requests a screen of 80×24 full of coloured text, in each format.
func BenchmarkScreen(b *testing.B) {
	const full = `i=0; while [ $i -lt 23 ]; do printf '\033[3%dm%s\033[0m \033[1m%d\033[0m and what else there is to be told here\n' $((i % 8)) coloured $i; i=$((i+1)); done; echo ready; cat`
	for _, format := range []schema.ScreenFormat{schema.ScreenFormatText, schema.ScreenFormatCells, schema.ScreenFormatAnsi, schema.ScreenFormatPng} {
		b.Run(string(format), func(b *testing.B) {
			s := serveBench(b)
			handle := s.start(schema.JobStartParams{
				Argv: []string{"sh", "-c", full},
				Wait: &schema.Wait{Until: schema.List[schema.Condition]{{Pattern: ptr("ready")}}},
			})
			measure(b, s.cmd.Process.Pid, func() { s.call("job/screen", screenOf(handle, format), nil) })
		})
	}
}

func screenOf(handle json.RawMessage, format schema.ScreenFormat) schema.JobScreenParams {
	return schema.JobScreenParams{Handle: handle, Format: &format}
}

// BenchmarkFirstScreen requests the screen of a job for the first time, while it floods and after it has flooded for
// ten seconds: nothing of it was drawn before.
func BenchmarkFirstScreen(b *testing.B) {
	for name, command := range map[string]string{
		"yes":      "exec yes",
		"coloured": `printf '\033[32mok\033[0m \033[1;34mpkg\033[0m compiled \033[38;5;99m7\033[39m\n%.0s' $(seq 2000) >"$0"; while :; do cat "$0"; done`,
	} {
		b.Run(name, func(b *testing.B) {
			var took []time.Duration
			for b.Loop() {
				s := serveBench(b, "exited")
				handle := s.start(schema.JobStartParams{
					Argv: []string{"sh", "-c", command, b.TempDir() + "/block"},
					Wait: &schema.Wait{Until: schema.List[schema.Condition]{}, TimeoutMs: schema.ValueOf(int64(10_000))},
				})
				begun := time.Now()
				s.call("job/screen", screenOf(handle, schema.ScreenFormatText), nil)
				took = append(took, time.Since(begun))
				s.call("job/kill", schema.JobKillParams{Handle: handle}, nil)
			}
			report(b, took)
		})
	}
}

// BenchmarkFloodWithScreen is BenchmarkOutput on a terminal, without screen requests, and with one or ten per second.
func BenchmarkFloodWithScreen(b *testing.B) {
	for _, text := range []string{"plain", "coloured"} {
		file, sum, size := floodFile(b, text)
		argv := []string{"sh", "-c", "stty -opost 2>/dev/null; exec cat " + file}
		for _, every := range []time.Duration{0, time.Second, 100 * time.Millisecond} {
			b.Run(fmt.Sprintf("%s/%v", text, every), func(b *testing.B) {
				s := serveBenchWith(b, schema.Options{
					Events: []string{"output", "exited"},
					Limits: &schema.LimitOptions{SpoolDiskBytes: ptr(int64(4 * floodBytes))},
				})
				b.SetBytes(size)
				job, shown := int64(0), 0
				for b.Loop() {
					job++
					quit, done := make(chan struct{}), make(chan struct{})
					go func() {
						defer close(done)
						shown += s.look(job, every, quit)
					}()
					s.flood(schema.ModePty, argv, sum, size)
					close(quit)
					<-done
				}
				b.ReportMetric(float64(shown)/float64(b.N), "screens/op")
			})
		}
	}
}

// look requests a job's screen at intervals, and returns the number of requests.
func (s *benchServer) look(job int64, every time.Duration, quit <-chan struct{}) (n int) {
	if every == 0 {
		return 0
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			s.call("job/screen", screenOf(handleOf(job), schema.ScreenFormatText), nil)
			n++
		case <-quit:
			return n
		}
	}
}

// BenchmarkScreenMemory reports how much idle jobs add to the server: on pipes, on terminals, and on terminals whose
// screen was requested.
func BenchmarkScreenMemory(b *testing.B) {
	const jobs = 50
	for _, kind := range []string{"pipe", "pty", "screen"} {
		b.Run(kind, func(b *testing.B) {
			for b.Loop() {
				s := serveBench(b, "exited")
				s.call("job/run", schema.JobRunParams{Argv: []string{"true"}}, nil) // It sets up everything that the first job needs.
				mode := schema.ModePty
				if kind == "pipe" {
					mode = schema.ModePipe
				}
				before := anonymous(b, s.cmd.Process.Pid)
				for range jobs {
					handle := s.start(schema.JobStartParams{
						// 2,000 lines fill the history above the screen.
						Argv: []string{"sh", "-c", `i=0; while [ $i -lt 2000 ]; do echo "line $i of what a program has to say, up to the end of its row"; i=$((i+1)); done; echo ready; exec sleep 1000`},
						Mode: &mode, Group: ptr("idle"),
						Wait: &schema.Wait{Until: schema.List[schema.Condition]{{Pattern: ptr("ready")}}},
					})
					if kind == "screen" {
						s.call("job/screen", screenOf(handle, schema.ScreenFormatText), nil)
					}
				}
				b.ReportMetric(float64(anonymous(b, s.cmd.Process.Pid)-before)/jobs/1024, "KiB-server")
				s.call("job/kill", struct {
					Group string `json:"group"`
				}{"idle"}, nil)
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}
