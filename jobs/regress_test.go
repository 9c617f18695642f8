package jobs

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Each of these tests is for a bug that was fixed.

func TestRangeTakesNoMoreThanIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFake(t, &recorder{})
		f.out.data <- []byte("abc")
		synctest.Wait()
		data, gaps := f.Range(PTY, Range{From: 0, To: 1 << 60})
		if string(data) != "abc" || len(gaps) != 1 || gaps[0] != (Range{From: 3, To: 1 << 60}) {
			t.Errorf("%q, gaps %v", data, gaps)
		}
		f.end()
	})
}

func TestPipelinedCursorReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFake(t, &recorder{})
		first := f.Read(ReadOptions{MaxBytes: 4, Wait: time.Hour})
		second := f.Read(ReadOptions{MaxBytes: 3, Wait: time.Hour})
		f.out.data <- []byte("abcdefgh")
		a, b := must(t, first), must(t, second)
		c := must(t, f.Read(ReadOptions{MaxBytes: 9}))
		if string(a.Data)+"|"+string(b.Data)+"|"+string(c.Data) != "abcd|efg|h" {
			t.Errorf("%q %q %q", a.Data, b.Data, c.Data)
		}
		f.end()
	})
}

// asPipe changes the input of the job to a pipe.
func (f *fakeJob) asPipe() { f.Job.term = nil }

func TestWithdrawnEOFLeavesTheInputOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFake(t, &recorder{})
		synctest.Wait()
		f.asPipe()
		stuck, _ := f.Write(Input{Text: "0123456789"})
		eof, _ := f.Write(Input{EOF: true})
		behind, _ := f.Write(Input{Text: "x"})
		refused(t, behind, CodeNotInteractive)
		eof.Cancel()
		refused(t, eof, CodeCanceled)
		again, _ := f.Write(Input{Text: "abc"})
		f.in.room <- 10
		f.in.room <- 3
		must(t, stuck)
		if r := must(t, again); r.BytesWritten != 3 {
			t.Errorf("%+v", r)
		}
		f.end()
	})
}

// Input that was not sent does not count for the length of the terminal's line.
func TestRefusedInputIsNoLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFake(t, &recorder{})
		f.m.settings.limits.InputQueueBytes = 4000
		stuck, _ := f.Write(Input{Text: "x\r"})
		over, _ := f.Write(Input{Text: strings.Repeat("y", 3999)})
		refused(t, over, CodeInputQueueFull)
		withdrawn, _ := f.Write(Input{Text: strings.Repeat("y", 3000)})
		withdrawn.Cancel()
		refused(t, withdrawn, CodeCanceled)
		f.in.room <- 2
		must(t, stuck)
		fits, _ := f.Write(Input{Text: strings.Repeat("z", 3000)})
		f.in.room <- 3000
		must(t, fits)
		// An interrupt discards the line.
		line, _ := f.Write(Input{Text: "\x03" + strings.Repeat("z", 3000)})
		f.in.room <- 3001
		must(t, line)
		long, _ := f.Write(Input{Text: strings.Repeat("z", 1200)})
		refused(t, long, CodeLineTooLong)
		f.end()
	})
}
