package proc

import (
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// eventually waits until is returns true: data in transit in the kernel takes some time.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for start := time.Now(); !is(); time.Sleep(time.Millisecond) {
		if time.Since(start) > watchdog {
			t.Fatalf("it never was so: %s", what)
		}
	}
}

func TestTerminalInput(t *testing.T) {
	term, slave, err := OpenTerminal(80, 24)
	if err != nil {
		t.Fatal(err)
	}
	defer slave.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(slave.Fd()), &st); err != nil {
		t.Fatal(err)
	}
	if id, err := term.ID(); err != nil || id != (FileID{uint64(st.Dev), st.Ino, uint64(st.Rdev)}) || id.Rdev == 0 {
		t.Errorf("%+v, %v", id, err)
	}
	if canonical, echo, err := term.Modes(); err != nil || !canonical || !echo {
		t.Errorf("modes %v %v, %v", canonical, echo, err)
	}
	unread := func() bool {
		unread, err := term.Unread()
		if err != nil {
			t.Fatal(err)
		}
		return unread
	}
	if unread() || !term.OutputIdle() {
		t.Error("a new terminal holds something")
	}
	for range 1000 { // without waiting: Unread must see data that is in transit
		for _, part := range []struct {
			text string
			is   bool
		}{{"part of ", false}, {"a line\n", true}} {
			if _, err := term.Sink().Write([]byte(part.text)); err != nil {
				t.Fatal(err)
			}
			if unread() != part.is {
				t.Fatalf("after %q unread is %v", part.text, !part.is)
			}
		}
		if _, err := slave.Read(make([]byte, 100)); err != nil {
			t.Fatal(err)
		}
		if unread() {
			t.Fatal("what was read is unread")
		}
	}
	if term.OutputIdle() {
		t.Error("the echo is nowhere")
	}
	if _, err := term.Source().Read(make([]byte, 1<<20)); err != nil {
		t.Fatal(err)
	}
	if term.OutputIdle() {
		t.Error("what was read counts as stored")
	}
	for !term.OutputIdle() { // One read may not have taken all of it.
		if term.Source().Stored(); term.OutputIdle() {
			break
		}
		if _, err := term.Source().Read(make([]byte, 1<<20)); err != nil {
			t.Fatal(err)
		}
	}
	if err := term.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := term.Unread(); err == nil {
		t.Error("a closed terminal knows what is unread")
	}
	if _, err := term.ID(); err == nil || term.OutputIdle() {
		t.Error("a closed terminal is known")
	}
}

// At the end of output nothing more can come, so that the output is idle once all of it was read.
func TestPipeInput(t *testing.T) {
	sink, stdin, err := InputPipe()
	if err != nil {
		t.Fatal(err)
	}
	source, stdout, err := OutputPipe()
	if err != nil {
		t.Fatal(err)
	}
	p := NewPipeInput(sink, source)
	if id, err := p.ID(); err != nil || id.Ino == 0 || id.Rdev != 0 {
		t.Errorf("%+v, %v", id, err)
	} else if theirs := identify(t, stdin); id != theirs {
		t.Errorf("ours is %+v, theirs %+v", id, theirs)
	}
	if ids := p.Outputs(); len(ids) != 1 || ids[0] != identify(t, stdout) {
		t.Errorf("outputs %+v", ids)
	}
	check := func(what string, unread, idle bool) {
		t.Helper()
		if got, err := p.Unread(); err != nil || got != unread || p.OutputIdle() != idle {
			t.Errorf("%s: unread %v, %v, idle %v", what, got, err, p.OutputIdle())
		}
	}
	check("new", false, true)
	if _, err := sink.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	check("written", true, true)
	_, _ = stdin.Read(make([]byte, 1))
	_, _ = stdout.WriteString("y")
	check("answered", false, false)
	if err := stdout.Close(); err != nil {
		t.Fatal(err)
	}
	check("closed", false, false)
	if _, err := source.Read(make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	check("read", false, false)
	source.Stored()
	check("stored", false, true)
	if err := stdin.Close(); err != nil {
		t.Fatal(err)
	}
	check("nobody reads", false, true)
	_, _ = sink.Close(), source.Close()
	if _, err := p.Unread(); err == nil || p.OutputIdle() || len(p.Outputs()) != 0 {
		t.Error("closed pipes are known")
	}
}

func identify(t *testing.T, f *os.File) FileID {
	t.Helper()
	id, err := fileID(int(f.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// Calls of OutputIdle and Unread from several goroutines do not disturb a Read.
func TestOutputIdleWhileRead(t *testing.T) {
	term, slave, err := OpenTerminal(80, 24)
	if err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	asked := make(chan struct{}, 2)
	for range 2 {
		go func() {
			defer func() { asked <- struct{}{} }()
			for {
				select {
				case <-stop:
					return
				default:
					term.OutputIdle()
					_, _ = term.Unread()
				}
			}
		}()
	}
	read := within(t, func() (read int) {
		go func() {
			for range 200 {
				_, _ = slave.WriteString("0123456789")
			}
		}()
		buf := make([]byte, 64)
		for read < 2000 {
			n, err := term.Source().Read(buf)
			if err != nil {
				t.Error(err)
				return read
			}
			read += n
		}
		term.Source().Stored()
		return read
	})
	if read != 2000 {
		t.Errorf("%d bytes", read)
	}
	eventually(t, "idle", term.OutputIdle)
	close(stop)
	<-asked
	<-asked
	_, _ = term.Close(), slave.Close()
}

// A read ends by itself only outside canonical mode, if VMIN is 0 or a timeout follows the first byte.
func TestReadTimeout(t *testing.T) {
	term, slave, err := OpenTerminal(80, 24)
	if err != nil {
		t.Fatal(err)
	}
	defer slave.Close()
	for _, c := range []struct {
		canonical bool
		min, time uint8
		want      time.Duration
		ends      bool
	}{{true, 0, 5, 0, false}, {false, 0, 5, 500 * time.Millisecond, true}, {false, 0, 0, 0, true}, {false, 1, 5, 0, false},
		{false, 10, 50, 5 * time.Second, true}, {false, 10, 1, time.Second, true}, {false, 10, 0, 0, false}} {
		a, err := unix.IoctlGetTermios(int(slave.Fd()), unix.TCGETS)
		if err != nil {
			t.Fatal(err)
		}
		a.Lflag &^= unix.ICANON
		if c.canonical {
			a.Lflag |= unix.ICANON
		}
		a.Cc[unix.VMIN], a.Cc[unix.VTIME] = c.min, c.time
		if err := unix.IoctlSetTermios(int(slave.Fd()), unix.TCSETS, a); err != nil {
			t.Fatal(err)
		}
		if got, ends := term.ReadTimeout(); got != c.want || ends != c.ends {
			t.Errorf("%+v: %v, %v", c, got, ends)
		}
	}
	if err := term.Close(); err != nil {
		t.Fatal(err)
	}
	if _, ends := term.ReadTimeout(); ends {
		t.Error("of a closed terminal it is known")
	}
}
