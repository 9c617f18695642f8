package match

import (
	"bytes"
	"fmt"
	"testing"
)

// buildLog is what a build prints: lines of some 80 bytes, some in colour.
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

func BenchmarkHundredPatterns(b *testing.B) {
	var patterns []*Pattern
	for i := range 100 {
		patterns = append(patterns, compile(b, fmt.Sprintf(`marker-%d: (\w+)`, i), ""))
	}
	feedAll(b, patterns, buildLog(1<<20), 4<<10)
}

// The cost has to be linear in the output, whatever the chunks: the rates of
// these are about the same.
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
