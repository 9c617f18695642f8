package view

import (
	"bytes"
	"testing"
)

// BenchmarkScreenBehind is how long who asks for a screen waits, where so much has come since
// anybody looked.
func BenchmarkScreenBehind(b *testing.B) {
	for _, size := range []struct {
		name  string
		bytes int
	}{{"64KiB", 64 << 10}, {"1MiB", viewLag}, {"16MiB", 16 << 20}} {
		b.Run(size.name, func(b *testing.B) {
			line := []byte("\x1b[32mok\x1b[0m  some/package/that/has/tests\t0.123s\r\n")
			v, end := viewOf(80, 24, bytes.Repeat(line, size.bytes/len(line)))
			for b.Loop() {
				New(v.src).Show(end, 0, nil)
			}
		})
	}
}

// BenchmarkScreenHostile is the same where the output is as much work as can be, on the
// largest terminal.
func BenchmarkScreenHostile(b *testing.B) {
	for name, output := range hostile {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				v, end := viewOf(largest, largest, []byte(output))
				b.StartTimer()
				v.Show(end, 0, nil)
			}
		})
	}
}
