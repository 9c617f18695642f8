package spool

import (
	"fmt"
	"testing"
)

// defaults returns the options of a server.
func defaults(b *testing.B) Options {
	return Options{Memory: 256 << 10, Tag: testTag, File: openFile(b), DiskHead: 8 << 20, DiskTail: 56 << 20, Total: NewBudget(2 << 30)}
}

func BenchmarkAppend(b *testing.B) {
	for _, size := range []int{4 << 10, 64 << 10} {
		p := make([]byte, size)
		b.Run(fmt.Sprintf("memory/%dK", size>>10), func(b *testing.B) { appends(b, New(4<<20), p) })
		b.Run(fmt.Sprintf("file/%dK", size>>10), func(b *testing.B) { appends(b, Open(defaults(b)), p) })
	}
}

func appends(b *testing.B, s *Spool, p []byte) {
	b.SetBytes(int64(len(p)))
	b.ReportAllocs()
	for b.Loop() {
		s.Append(p)
	}
	_ = s.Remove() // best effort: the directory is removed as well
}

func BenchmarkRead(b *testing.B) {
	s := Open(defaults(b))
	for s.End() < 32<<20 {
		s.Append(make([]byte, 64<<10))
	}
	for _, size := range []int{4 << 10, 64 << 10} {
		p := make([]byte, size)
		read := func(off int64) func(*testing.B) {
			return func(b *testing.B) {
				b.SetBytes(int64(len(p)))
				b.ReportAllocs()
				for b.Loop() {
					if n, at := s.Read(p, off); n != len(p) || at != off {
						b.Fatal(n, at)
					}
				}
			}
		}
		b.Run(fmt.Sprintf("end/%dK", size>>10), read(s.End()-int64(size)))
		b.Run(fmt.Sprintf("disk/%dK", size>>10), read(1<<20))
	}
	if err := s.Finish(); err != nil {
		b.Fatal(err)
	}
	p := make([]byte, 64<<10)
	b.Run("finished/64K", func(b *testing.B) {
		b.SetBytes(int64(len(p)))
		for b.Loop() {
			s.Read(p, 1<<20)
		}
	})
}

// BenchmarkFinish puts a full ring in order, 64 MiB by default.
func BenchmarkFinish(b *testing.B) {
	p := make([]byte, 64<<10)
	for b.Loop() {
		b.StopTimer()
		s := Open(defaults(b))
		for s.End() < 100<<20 {
			s.Append(p)
		}
		b.StartTimer()
		if err := s.Finish(); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		_ = s.Remove() // best effort: the directory is removed as well
		b.StartTimer()
	}
}
