package jobs

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"shelld.dev/shelld/jobs/internal/cast"
	"shelld.dev/shelld/jobs/internal/proc"
	"shelld.dev/shelld/jobs/internal/store"
	"shelld.dev/shelld/jobs/stored"
)

// startRecorded starts a simulated job that is recorded, and returns the path of the recording.
func startRecorded(t *testing.T, sink *recorder, l Limits, prepare func(*Manager)) (f *fakeJob, path string) {
	t.Helper()
	dir := t.TempDir()
	var mgr *Manager
	f = startFakeWith(t, sink, func(m *Manager) {
		keepFiles(t, m, persistIn(dir), l)
		mgr = m
	}, func(s *Spec) {
		s.Record, s.Command = true, ptr("vi 'a b'")
		if prepare != nil {
			prepare(mgr)
		}
	})
	return f, filepath.Join(dir, "session", "1", stored.RecordingFile)
}

// types writes input, and returns when the kernel has taken it.
func (f *fakeJob) types(in Input) {
	f.t.Helper()
	p := f.writes(in)
	n := len(in.Text)
	if in.AppendNewline {
		n++
	}
	f.in.room <- n
	must(f.t, p)
}

// emits makes the job print text, and returns when that is stored.
func (f *fakeJob) emits(text string) {
	f.out.data <- []byte(text)
	synctest.Wait()
}

// recorded returns the lines of a recording, and checks that all are complete.
func recorded(t *testing.T, path string) (header string, events []string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(b), "\n")
	if len(lines) < 2 || lines[len(lines)-1] != "" {
		t.Fatalf("the last line is not whole: %q", b)
	}
	return lines[0], lines[1 : len(lines)-1]
}

func sameEvents(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("the recording has\n%s\nand not\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestRecording(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, path := startRecorded(t, &recorder{}, Limits{}, nil)
		time.Sleep(1500 * time.Microsecond)
		f.emits("\x1b[1mhé\xe2\x82")
		time.Sleep(time.Second)
		f.emits("\xac\xff\xf0\x9f")
		f.types(Input{Text: "l\xc3"})
		f.types(Input{Text: "\xa9", AppendNewline: true})
		time.Sleep(time.Minute)
		must(t, f.Resize(100, 30, ""))
		must(t, f.Resize(100, 30, "")) // no change
		f.emits("done\r\n")
		time.Sleep(time.Second)
		f.proc.exit(3)
		synctest.Wait()
		time.Sleep(time.Second)
		f.emits("late\xe2\x82")
		f.proc.gone()
		synctest.Wait()
		header, events := recorded(t, path)
		if want := `{"version":3,"term":{"cols":80,"rows":24},"timestamp":946684800,"command":"vi 'a b'"}`; header != want {
			t.Errorf("%s", header)
		}
		sameEvents(t, events,
			`[0.001500,"o","\u001b[1mhé"]`,
			`[1.000000,"o","€`+"\ufffd"+`"]`,
			`[0.000000,"i","l"]`,
			`[0.000000,"i","é\r"]`,
			`[60.000000,"r","100x30"]`,
			`[0.000000,"r","100x30"]`,
			`[0.000000,"o","`+"\ufffd"+`done\r\n"]`,
			`[2.000000,"o","late"]`,
			`[0.000000,"o","`+"\ufffd"+`"]`,
			`[0.000000,"x","3"]`)
		f.finish()
	})
}

// When a job is reported closed, its recording is complete, even if there was no output and no input.
func TestRecordingAtClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, path := startRecorded(t, &recorder{}, Limits{}, nil)
		f.proc.exit(0)
		f.proc.gone()
		synctest.Wait()
		if f.sink.names()[1] != "closed" {
			t.Fatal(f.sink.names())
		}
		_, events := recorded(t, path)
		sameEvents(t, events, `[0.000000,"x","0"]`)
		if got := f.m.settings.archive.total.Used(); got != size(t, path) {
			t.Errorf("%d bytes count, the file has %d", got, size(t, path))
		}
		must(t, f.Remove(false))
		if _, err := os.Lstat(filepath.Dir(path)); !errors.Is(err, fs.ErrNotExist) || f.m.settings.archive.total.Used() != 0 {
			t.Errorf("removed, it is there: %v; %d bytes count", err, f.m.settings.archive.total.Used())
		}
		f.finish()
	})
}

func size(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// The end of a leader is recorded as one number, or not at all if it is not known.
func TestRecordedExits(t *testing.T) {
	for want, e := range map[string]Exit{
		"7 true": {Code: ptr(7)}, "143 true": {Signal: "SIGTERM"}, "180 true": {Signal: "SIG52"}, "0 false": {Reason: ReasonLost},
	} {
		status, known := exitStatus(&e)
		if !known {
			status = 0
		}
		if got := fmt.Sprint(status, known); got != want {
			t.Errorf("%+v: %s, not %s", e, got, want)
		}
	}
}

// Secrets are not recorded, whether they were typed or printed, and however they are cut into pieces.
func TestSecretsAreNotRecorded(t *testing.T) {
	const secret = "correct horse"
	synctest.Test(t, func(t *testing.T) {
		term := &echoTerminal{}
		term.set(forLine)
		f, path := startRecorded(t, &recorder{}, Limits{}, func(m *Manager) {
			plays(m, term, nil)
			if err := m.SetSecret("S", secret); err != nil {
				t.Fatal(err)
			}
		})
		f.emits("say correct ")
		f.emits("horse twice\r\n")
		for _, part := range []string{"x", "correct", " hor", "se", "y", "co", "z"} {
			f.types(Input{Text: part})
		}
		f.types(Input{Text: "hunter2", Secret: true})
		term.set(forPassword)
		f.types(Input{Text: "swordfish", AppendNewline: true})
		f.AnswerSecret("w1", []byte("open sesame")) // There is no question: it is not typed.
		term.set(forLine)
		f.types(Input{Text: "shown", AppendNewline: true})
		f.types(Input{Text: "correct ho"})
		f.proc.exit(0)
		f.proc.gone()
		synctest.Wait()
		_, events := recorded(t, path)
		sameEvents(t, events,
			`[0.000000,"o","say "]`, `[0.000000,"o","*** twice\r\n"]`,
			`[0.000000,"i","x"]`, `[0.000000,"i","***"]`, `[0.000000,"i","y"]`, `[0.000000,"i","coz"]`,
			`[0.000000,"i","shown\r"]`, `[0.000000,"i","***"]`, `[0.000000,"x","0"]`)
		f.finish()
	})
}

// plays makes the manager start its jobs on a terminal and, if in is not nil, with the input that in returns.
func plays(m *Manager, term terminal, in func(*fakeInput) input) {
	launch := m.launch
	m.launch = func(s *Spec, p plan) (*launched, *Error) {
		l, err := launch(s, p)
		l.term = term
		if in != nil {
			l.input = in(l.input.(*fakeInput))
		}
		return l, err
	}
}

// An echoTerminal has modes that change from call to call.
type echoTerminal struct {
	fakeTerminal
	mu   sync.Mutex
	next []proc.Attrs // the modes for the next calls; the last one stays
}

// The modes of a terminal for a line, a password, and an editor.
var (
	forLine     = proc.Attrs{Canonical: true, Echo: true, CRToNL: true}
	forPassword = proc.Attrs{Canonical: true, CRToNL: true}
	forEditor   = proc.Attrs{}
)

func (t *echoTerminal) set(next ...proc.Attrs) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.next = next
}

func (t *echoTerminal) Attrs() (proc.Attrs, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	a := t.next[0]
	t.next = t.next[min(1, len(t.next)-1):]
	return a, nil
}

// A quickInput takes all input at once.
type quickInput struct{ *fakeInput }

func (quickInput) WriteNow(p []byte) (int, error) { return len(p), nil }

// If a program switches echo off while input is in transit, it may get that input as a password, so it is not recorded.
func TestEchoEndsWhileInputIsWritten(t *testing.T) {
	quick := func(in *fakeInput) input { return quickInput{in} }
	on, off, raw := forLine, forPassword, forEditor
	for _, c := range []struct {
		name string
		echo []proc.Attrs // when it is queued, then before and after a write of it, at once or by the writeLoop
		in   func(*fakeInput) input
		want bool
	}{
		{"at once", []proc.Attrs{on, on, on}, quick, true},
		{"at once, off from the start", []proc.Attrs{off, on, on}, quick, false},
		{"at once, off before", []proc.Attrs{on, off, on}, quick, false},
		{"at once, off behind", []proc.Attrs{on, on, off}, quick, false},
		{"at once, off behind an editor", []proc.Attrs{raw, raw, off}, quick, true},
		{"at once, off before an editor", []proc.Attrs{raw, off, raw}, quick, false},
		{"later", []proc.Attrs{on, on, on, on}, nil, true},
		{"later, off behind an editor", []proc.Attrs{raw, raw, raw, off}, nil, false},
		{"later, off before", []proc.Attrs{on, on, off, on}, nil, false},
		{"later, off behind", []proc.Attrs{on, on, on, off}, nil, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			term := &echoTerminal{}
			term.set(c.echo...)
			f, path := startRecorded(t, &recorder{}, Limits{}, func(m *Manager) { plays(m, term, c.in) })
			p := f.writes(Input{Text: "swordfish"})
			if c.in == nil {
				f.in.room <- len("swordfish")
			}
			must(t, p)
			f.proc.exit(0)
			f.proc.gone()
			synctest.Wait()
			_, events := recorded(t, path)
			if got := slices.Contains(events, `[0.000000,"i","swordfish"]`); got != c.want || !c.want && len(events) != 1 {
				t.Errorf("%s: %v", c.name, events)
			}
			f.finish()
		})
	}
}

func TestShows(t *testing.T) {
	for name, c := range map[string]struct {
		attrs proc.Attrs
		want  bool
	}{
		"a line":                 {proc.Attrs{Canonical: true, Echo: true, CRToNL: true}, true},
		"a password":             {proc.Attrs{Canonical: true, CRToNL: true}, false},
		"keys that are echoed":   {proc.Attrs{Echo: true, CRToNL: true}, true},
		"a password, with stars": {proc.Attrs{CRToNL: true}, false},
		"an editor":              {proc.Attrs{}, true},
		"a password, raw lines":  {proc.Attrs{Canonical: true}, false},
	} {
		if got := shows(c.attrs); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// Input in random pieces, with secret values and parts of them in between, is recorded as if it had been redacted as a
// whole.
func TestRecordedInputIsCutAnyhow(t *testing.T) {
	const secret = "abcabd"
	r := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		synctest.Test(t, func(t *testing.T) {
			f, path := startRecorded(t, &recorder{}, Limits{}, func(m *Manager) {
				if err := m.SetSecret("S", secret); err != nil {
					t.Fatal(err)
				}
			})
			var text strings.Builder
			for text.Len() < 200 {
				text.WriteString([]string{"a", "abc", secret, "x", "d", "é"}[r.IntN(6)])
			}
			text.WriteString("\r")
			for rest := text.String(); rest != ""; {
				n := min(1+r.IntN(9), len(rest))
				f.types(Input{Text: rest[:n]})
				rest = rest[n:]
			}
			f.proc.exit(0)
			f.proc.gone()
			synctest.Wait()
			_, events := recorded(t, path)
			got, _ := dataOf(strings.Join(events, "\n")+"\n", "i")
			want := strings.TrimSuffix(f.m.CleanText(text.String()), "\r") + `\r`
			if got != want {
				t.Errorf("%q is recorded as\n%q and not\n%q", text.String(), got, want)
			}
			f.finish()
		})
	}
}

// The limits end a recording and nothing else. The recording has a marker that says so.
func TestLimitsOfARecording(t *testing.T) {
	for name, l := range map[string]Limits{
		"limits.spoolDiskBytes (20000 bytes)": {SpoolDisk: 20_000},
		"limits.spoolTotalBytes":              {SpoolTotal: 60_000},
	} {
		synctest.Test(t, func(t *testing.T) {
			sink := &recorder{}
			f, path := startRecorded(t, sink, l, nil)
			line := strings.Repeat("0123456789", 100)
			for range 50 {
				time.Sleep(time.Second)
				f.emits(line)
			}
			time.Sleep(time.Second)
			f.types(Input{Text: "not recorded"})
			f.proc.exit(0)
			f.proc.gone()
			synctest.Wait()
			_, events := recorded(t, path)
			n := len(events) - 2
			if n < 10 || n > 40 {
				t.Fatalf("%s: %d events", name, n)
			}
			for _, e := range events[:n] {
				if e != `[1.000000,"o","`+line+`"]` {
					t.Errorf("%.50s", e)
				}
			}
			sameEvents(t, events[n:],
				`[1.000000,"m","shelld: the recording ends here: it reached `+name+`; the job continued"]`,
				fmt.Sprintf(`[%d.000000,"x","0"]`, 50-n))
			info := must(t, f.Info())
			if l.SpoolDisk > 0 && (size(t, path) > l.SpoolDisk || info.OutputFileError != "") {
				t.Errorf("%s: %d bytes; %q", name, size(t, path), info.OutputFileError)
			}
			if got := f.End(PTY); got != 50_000 {
				t.Errorf("the output has %d bytes", got)
			}
			f.finish()
		})
	}
}

// While the disk is stalled, the memory for waiting data is bounded: output is recorded later, in few events. Excessive
// input is dropped, and a marker says so.
func TestRecordingOnAStuckDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFake(t, &recorder{})
		var file memoryFile
		r := &recording{
			job: &f.Job.base, streams: f.output.streams, began: time.Now(), wake: make(chan struct{}, 1), joined: nothingJoined,
			text: make([]cast.Text, 2), read: make([]int64, 1),
			cast: cast.NewWriter(cast.Options{File: &file, Max: 1 << 30}, cast.Header{Cols: 80, Rows: 24}),
		}
		st := f.output.streams[0]
		const lines = 3 * mostMoments
		var want strings.Builder
		for i := range lines {
			line := fmt.Sprintln(i)
			want.WriteString(line)
			f.emits(line)
			r.output(st, r.now(), len(line))
			if i%2 == 0 {
				r.mu.Lock()
				r.typed(r.now(), []byte("ab"))
				r.mu.Unlock()
			}
			if err := r.resize(80, 20+i%10, func() error { return nil }); err != nil {
				t.Fatal(err)
			}
		}
		if n := len(r.moments); n > mostMoments+int(noteKinds) {
			t.Errorf("%d notes wait", n)
		}
		all, ended := r.take(nil)
		if ended || len(r.moments) != 0 || r.typing != 0 {
			t.Error("they still do")
		}
		for i := range all {
			r.write(&all[i])
		}
		r.flush()
		lost, _ := dataOf(file.String(), "m")
		_, last := dataOf(file.String(), "r")
		out, _ := dataOf(file.String(), "o")
		in, _ := dataOf(file.String(), "i")
		if out = strings.ReplaceAll(out, `\n`, "\n"); out != want.String() {
			t.Errorf("%d bytes of output, not %d", len(out), want.Len())
		}
		if told := fmt.Sprintf("shelld: %d bytes are missing here: input, because the disk was too slow", lines-len(in)); lost != told || in == "" {
			t.Errorf("%d bytes of input, and: %s", len(in), lost)
		}
		if want := fmt.Sprintf("80x%d", 20+(lines-1)%10); last != want {
			t.Errorf("the last size is %s, not %s", last, want)
		}
		f.end()
	})
}

// dataOf returns the data of all events with a code, and of the last of them.
func dataOf(recording, code string) (all, last string) {
	for line := range strings.Lines(recording) {
		if _, data, ok := strings.Cut(line, `,"`+code+`","`); ok {
			last = strings.TrimSuffix(data, "\"]\n")
			all += last
		}
	}
	return all, last
}

// A memoryFile is a file in memory.
type memoryFile struct{ bytes.Buffer }

func (d *memoryFile) Truncate(n int64) error {
	d.Buffer.Truncate(int(n))
	return nil
}

// A stuckFile blocks writes until on is closed. Then it fails if fail is set.
type stuckFile struct {
	memoryFile
	on   chan struct{}
	fail error
}

func (s *stuckFile) Write(p []byte) (int, error) {
	<-s.on
	if s.fail != nil {
		return 0, s.fail
	}
	return s.memoryFile.Write(p)
}

func (s *stuckFile) Close() error { return nil }

// If the disk blocks the writes of a recording, that delays the closed event of the job, and nothing else.
func TestStuckRecordingDelaysOnlyClosing(t *testing.T) {
	for name, fail := range map[string]error{"it goes on": nil, "it fails": &fs.PathError{Op: "write", Path: "/there/session.cast", Err: syscall.ENOSPC}} {
		synctest.Test(t, func(t *testing.T) {
			sink := &recorder{}
			var last atomic.Pointer[Info] // the last info that was written
			file := &stuckFile{on: make(chan struct{}), fail: fail}
			f, _ := startRecorded(t, sink, Limits{}, func(m *Manager) {
				m.settings.archive.encode = func(i Info) ([]byte, error) {
					last.Store(&i)
					return nil, nil
				}
				m.system.createRecording = func(*store.Folder) (recordingDisk, error) { return file, nil }
			})
			for range 3 * mostMoments {
				f.emits("0123456789")
			}
			f.types(Input{Text: "typed"})
			must(t, f.Resize(90, 20, ""))
			began := time.Now()
			p := f.Kill(KillOptions{})
			<-f.proc.kills
			f.proc.exit(0)
			f.proc.gone()
			if r := must(t, p); r.State.Status != StatusExited || time.Since(began) != fileTime {
				t.Errorf("%s: killed, it is %s after %v", name, r.State.Status, time.Since(began))
			}
			if got := sink.names(); !slices.Equal(got, []string{"exited"}) {
				t.Errorf("%s: %v before the recording is complete", name, got)
			}
			close(file.on)
			synctest.Wait()
			if got := sink.names(); !slices.Equal(got, []string{"exited", "closed"}) {
				t.Errorf("%s: %v", name, got)
			}
			info := must(t, f.Info())
			text := file.String()
			out, _ := dataOf(text, "o")
			switch {
			case fail == nil:
				if info.OutputFileError != "" || out != strings.Repeat("0123456789", 3*mostMoments) || !strings.Contains(text, `"x","0"`) {
					t.Errorf("%s: %q; %d bytes", name, info.OutputFileError, len(text))
				}
			case last.Load().OutputFile != info.OutputFile || info.OutputFile != "/there/session.cast" || info.OutputFileError != "no space left on device" || text != "":
				t.Errorf("%s: %q, %q; %q", name, info.OutputFile, info.OutputFileError, text)
			}
			if got := f.End(PTY); got != 30*mostMoments {
				t.Errorf("%s: the output has %d bytes", name, got)
			}
			f.finish()
		})
	}
}

// If the spool has dropped output before it was recorded, a marker says so.
func TestRecordingOfDroppedOutput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFakeWith(t, &recorder{}, func(m *Manager) { m.settings.limits.SpoolMemory = 256 << 10 }, func(*Spec) {})
		var file memoryFile
		r := &recording{
			job: &f.Job.base, streams: f.output.streams, began: time.Now(), wake: make(chan struct{}, 1), joined: nothingJoined,
			text: make([]cast.Text, 2), read: make([]int64, 1),
			cast: cast.NewWriter(cast.Options{File: &file, Max: 1 << 30}, cast.Header{Cols: 80, Rows: 24}),
		}
		line := strings.Repeat("x", 1000)
		for range 1000 {
			f.emits(line)
		}
		r.output(f.output.streams[0], r.now(), 1)
		all, _ := r.take(nil)
		for i := range all {
			r.write(&all[i])
		}
		r.flush()
		var kept int64
		for _, k := range f.output.streams[0].spool.Kept() {
			kept += k.To - k.From
		}
		if n := strings.Count(file.String(), "x"); int64(n) != kept {
			t.Errorf("%d bytes are recorded, and %d kept", n, kept)
		}
		if want := fmt.Sprintf("%d bytes are missing here: output, which was dropped before it could be recorded", 1_000_000-kept); !strings.Contains(file.String(), want) {
			t.Errorf("it does not say: %s", want)
		}
		f.end()
	})
}

// A recording requires that output is kept in files.
func TestRecordNeedsFiles(t *testing.T) {
	m := newManager(slog.New(slog.DiscardHandler))
	_, _, err := m.Start(Spec{Argv: []string{"true"}, Record: true})
	if err == nil || err.Code != CodeUnsupported || err.Pointer != "/record" || len(m.registry.jobs) != 0 {
		t.Errorf("%+v", err)
	}
}
