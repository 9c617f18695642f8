package screen

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// floods returns output of the kinds that programs print without end.
func floods() map[string][]byte {
	var plain, short, colour strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&plain, "2026-01-02 10:%02d:%02d INFO request %d done in %d ms, 200, /api/v1/items/%d\r\n", i/60%60, i%60, i, i%97, i)
		short.WriteString("y\r\n")
		fmt.Fprintf(&colour, "\x1b[32mok\x1b[0m  \x1b[1;34mpkg/%d\x1b[0m compiled \x1b[38;5;%dm%d\x1b[39m → \x1b[2mcached\x1b[22m\r\n", i, i%256, i)
	}
	var full strings.Builder
	for i := range 50 {
		full.WriteString("\x1b[H")
		for row := range 24 {
			fmt.Fprintf(&full, "\x1b[%d;1H\x1b[7m%5d\x1b[27m root  20  0 %6d \x1b[1mS\x1b[0m %d.%d\x1b[K", row+1, i*row, i*1000, i%10, row)
		}
	}
	return map[string][]byte{"plain": []byte(plain.String()), "short": []byte(short.String()), "colour": []byte(colour.String()), "full": []byte(full.String()),
		"cjk": bytes.Repeat([]byte("日本語のテキスト、漢字とかな。\r\n"), 2000)}
}

// BenchmarkTerminal draws floods, and has x/vt draw them as well.
func BenchmarkTerminal(b *testing.B) {
	for name, data := range floods() {
		for _, size := range [][2]int{{80, 24}, {200, 50}} {
			for kind, make := range map[string]func(cols, rows, history int) emulator{"ours": newOurs, "xvt": newReference} {
				b.Run(fmt.Sprintf("%s/%s/%dx%d", kind, name, size[0], size[1]), func(b *testing.B) {
					t := make(size[0], size[1], 1000)
					b.SetBytes(int64(len(data)))
					b.ReportAllocs()
					for b.Loop() {
						t.Write(data)
					}
				})
			}
		}
	}
}

func BenchmarkSkim(b *testing.B) {
	for name, data := range floods() {
		b.Run(name, func(b *testing.B) {
			t := NewTerminal(80, 24, 1000)
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				t.Skim(data)
			}
		})
	}
}

func BenchmarkSnapshot(b *testing.B) {
	t := NewTerminal(80, 24, 1000)
	t.Write(floods()["colour"])
	for b.Loop() {
		s := t.Snapshot(0)
		for _, l := range s.Lines {
			_ = l.Text()
		}
	}
}
