package screen

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkHostile measures the time and the counted work of 4 KiB of sequences that cause much work.
func BenchmarkHostile(b *testing.B) {
	for _, size := range [][2]int{{200, 50}, {512, 512}} {
		for _, h := range hostile {
			b.Run(fmt.Sprintf("%dx%d/%s", size[0], size[1], h.name), func(b *testing.B) {
				text := []byte(strings.Repeat(h.again, max(1, 4<<10/len(h.again))))
				work := int64(0)
				for b.Loop() {
					b.StopTimer()
					t := NewTerminal(size[0], size[1], 1000)
					t.Write([]byte(h.before))
					work -= t.Work()
					b.StartTimer()
					t.Write(text)
					work += t.Work()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(work), "ns/work")
				b.ReportMetric(float64(work)/float64(b.N), "work/op")
			})
		}
	}
}
