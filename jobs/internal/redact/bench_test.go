package redact

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// tokens returns values like the tokens of services.
func tokens(n, length int) (all []string) {
	r := rand.New(rand.NewPCG(1, uint64(length)))
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
	for range n {
		all = append(all, word(r, letters, length))
	}
	return all
}

var words = strings.Fields("the server of each job passes output on and never stores what must not be seen " +
	"by whoever reads the terminal because some of these programs print passwords again into logs")

// passwords returns values like passwords that people choose.
func passwords(n int) (all []string) {
	for i := range n {
		all = append(all, words[i%len(words)]+words[(i*7+3)%len(words)]+fmt.Sprint(i))
	}
	return all
}

// prose returns text of ordinary words.
func prose(size int) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	var b bytes.Buffer
	for col := 0; b.Len() < size; {
		w := words[r.IntN(len(words))]
		b.WriteString(w)
		if col += len(w) + 1; col > 70 {
			b.WriteByte('\n')
			col = 0
		} else {
			b.WriteByte(' ')
		}
	}
	return b.Bytes()[:size]
}

// BenchmarkWrite measures chunks of 64 KiB with various contents and values, and copying them for comparison.
func BenchmarkWrite(b *testing.B) {
	const size = 64 << 10
	text := prose(size)
	one := tokens(20, 32)
	short := append(tokens(19, 32), "hunter")
	prefixes := bytes.Repeat([]byte(one[0][:31]), size/31)
	b.Run("copy", func(b *testing.B) {
		to := make([]byte, size)
		b.SetBytes(size)
		for b.Loop() {
			copy(to, text)
		}
	})
	for _, c := range []struct {
		name   string
		values []string
		p      []byte
	}{
		{"tokens=20", one, text},
		{"tokens=200", tokens(200, 32), text},
		{"tokens=1000", tokens(1000, 32), text},
		{"short=1", short, text},
		{"short=20", tokens(20, 6), text},
		{"passwords=20", passwords(20), text},
		{"prefixes", one, prefixes},
		{"letters", []string{strings.Repeat("a", 64) + "b", strings.Repeat("a", 32) + "c"}, bytes.Repeat([]byte("a"), size)},
		{"secrets", one, bytes.Repeat([]byte(one[0]+" "), size/33)},
	} {
		b.Run(c.name, func(b *testing.B) {
			r := NewRedactor(New(c.values))
			b.SetBytes(int64(len(c.p)))
			b.ReportAllocs()
			for b.Loop() {
				r.Write(c.p)
			}
		})
	}
}

// BenchmarkNew measures the cost of a new value for a job.
func BenchmarkNew(b *testing.B) {
	for _, n := range []int{1, 20, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			values := tokens(n, 32)
			for b.Loop() {
				New(values)
			}
		})
	}
}
