package match

import (
	"bytes"
	"fmt"
	"testing"
)

// buildLog returns the output of a build: lines of some 80 bytes, some in colour.
func buildLog(size int) []byte {
	var b bytes.Buffer
	for i := 0; b.Len() < size; i++ {
		if i%5 == 0 {
			fmt.Fprintf(&b, "\x1b[32m[%4d/9000]\x1b[0m compiling module number %d of the project\r\n", i%9000, i)
		} else {
			fmt.Fprintf(&b, "  src/pkg/file%d.go:%d: note: nothing to see here, moving on to the next one\r\n", i, i%700)
		}
	}
	return b.Bytes()[:size]
}

func feedAll(b *testing.B, patterns []*Pattern, out []byte, chunk int) {
	b.SetBytes(int64(len(out)))
	for b.Loop() {
		s := NewSet(0)
		for i, p := range patterns {
			s.Add(i, p, Options{})
		}
		for rest := out; len(rest) > 0; {
			n := min(chunk, len(rest))
			s.Feed(rest[:n])
			rest = rest[n:]
		}
	}
}

func BenchmarkFeed(b *testing.B) {
	for _, bench := range []struct{ name, pattern, flags string }{
		{"literal", `Segmentation fault`, ""},
		{"alternation", `(?:error|failed|panic):`, ""},
		{"alternation ignoring case", `error|warning|fatal`, "i"},
		{"prompt", `^[^\n]*[$#] $`, "m"},
		{"python prompt", `>>> `, ""},
		{"listening", `.*listening on (\d+)`, ""},
		{"listening without .*", `listening on (\d+)`, ""},
		{"over lines", `Traceback:\s+([^]*?)\n\n`, ""},
		{"look-behind", `(?<=error: )\S+`, ""},
		{"a match on each line", `file(\d+)\.go`, ""},
		{"every word", `\w+`, ""},
		{"every character", `[^]`, ""},
		{"empty nearly always", `Z*`, ""},
		{"an open quote", `'[^']*'`, ""},
	} {
		b.Run(bench.name, func(b *testing.B) {
			feedAll(b, []*Pattern{compile(b, bench.pattern, bench.flags)}, buildLog(1<<20), 4<<10)
		})
	}
}

// BenchmarkThinned does the work of a job's follower with a pattern that matches without end.
func BenchmarkThinned(b *testing.B) {
	for _, bench := range []struct {
		name string
		out  []byte
	}{{"one line", bytes.Repeat([]byte("y"), 1<<20)}, {"log", buildLog(1 << 20)}} {
		b.Run(bench.name, func(b *testing.B) {
			b.SetBytes(int64(len(bench.out)))
			for b.Loop() {
				s := NewSet(0)
				s.Most = 64
				s.Add(1, compile(b, `\w`, ""), Options{})
				for rest := bench.out; len(rest) > 0; {
					n, _ := s.Step(rest)
					rest = rest[n:]
				}
			}
		})
	}
}

func BenchmarkHundredPatterns(b *testing.B) {
	var patterns []*Pattern
	for i := range 100 {
		patterns = append(patterns, compile(b, fmt.Sprintf(`marker-%d: (\w+)`, i), ""))
	}
	feedAll(b, patterns, buildLog(1<<20), 4<<10)
}

// The cost has to be linear in the output for any chunk size: these rates are about the same.
func BenchmarkLinear(b *testing.B) {
	for _, size := range []int{1, 4} {
		for _, chunk := range []int{64, 4 << 10, 1 << 20} {
			b.Run(fmt.Sprintf("%dMiB/chunk%d", size, chunk), func(b *testing.B) {
				feedAll(b, []*Pattern{compile(b, `(?:error|failed|panic):`, "")}, buildLog(size<<20), chunk)
			})
		}
	}
}

func BenchmarkStripper(b *testing.B) {
	out := buildLog(1 << 20)
	b.SetBytes(int64(len(out)))
	var buf []byte
	for b.Loop() {
		buf = new(Stripper).Append(buf[:0], out)
	}
}

func BenchmarkCompile(b *testing.B) {
	for b.Loop() {
		if _, err := Compile(`(?:error|failed|panic): (\w+)`, ""); err != nil {
			b.Fatal(err)
		}
	}
}

// colouredLog returns the output of a test runner: short runs of text in colours, with signs beyond ASCII.
func colouredLog(size int) []byte {
	var b bytes.Buffer
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, "\x1b[1m\x1b[38;5;%dm✓\x1b[0m \x1b[2msuite/%d\x1b[22m \x1b[36mworks in \x1b[33m%d\x1b[39m ms\x1b[K\r\n", i%256, i%40, i%90)
	}
	return b.Bytes()[:size]
}

// jsonLog returns the output of a service: long lines of quotes and braces.
func jsonLog(size int) []byte {
	var b bytes.Buffer
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, `{"time":"2026-01-02T03:04:%02d.%06dZ","level":"info","msg":"request served","method":"GET","path":"/api/items/%d","status":200,"bytes":%d,"tags":["a","b","c"]}`+"\n", i%60, i, i, i*37%9000)
	}
	return b.Bytes()[:size]
}

// BenchmarkOutput feeds kinds of output to the patterns that are used most often. Each kind also comes once with twice
// as much output: the speed must be the same.
func BenchmarkOutput(b *testing.B) {
	kinds := []struct {
		name string
		make func(int) []byte
	}{{"log", buildLog}, {"coloured", colouredLog}, {"JSON", jsonLog}}
	for _, k := range kinds {
		for _, p := range []struct{ name, pattern string }{
			{"literal", `Segmentation fault`},
			{"alternatives", `(?:error|failed|panic):`},
			{"listening", `listening on (\d+)`},
			{"prompt", `^[^\n]*[$#] $`},
		} {
			for _, mib := range []int{1, 2} {
				b.Run(fmt.Sprintf("%s/%s/%dMiB", k.name, p.name, mib), func(b *testing.B) {
					feedAll(b, []*Pattern{compile(b, p.pattern, "m")}, k.make(mib<<20), 4<<10)
				})
			}
		}
	}
}
