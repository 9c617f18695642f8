package echo

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"shelld.dev/shelld/jobs/internal/proc"
)

// A realTerminal is a terminal of the kernel that only the test uses.
type realTerminal struct {
	t     *testing.T
	term  *proc.Terminal
	slave *os.File
}

func openRealTerminal(t *testing.T) realTerminal {
	t.Helper()
	term, slave, err := proc.OpenTerminal(80, 24)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = term.Close(), slave.Close() })
	if err := unix.SetNonblock(int(slave.Fd()), true); err != nil {
		t.Fatal(err)
	}
	return realTerminal{t, term, slave}
}

// set changes the modes and discards all data in the terminal.
func (r realTerminal) set(change func(*unix.Termios)) proc.Attrs {
	r.t.Helper()
	fd := int(r.slave.Fd())
	tio, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	// Leaving canonical mode and coming back is the only way to clear a pending literal-next character.
	for _, step := range []func(*unix.Termios){func(tio *unix.Termios) { tio.Lflag ^= unix.ICANON }, change} {
		if err == nil {
			step(tio)
			err = unix.IoctlSetTermios(fd, unix.TCSETSF, tio)
		}
	}
	if err != nil {
		r.t.Fatal(err)
	}
	attrs, err := r.term.Attrs()
	if err != nil {
		r.t.Fatal(err)
	}
	return attrs
}

const endOfEcho = "<end of echo>"

// typed types data and returns the echo that the terminal makes of it.
func (r realTerminal) typed(data []byte) []byte {
	r.t.Helper()
	if _, err := r.term.Sink().Write(data); err != nil {
		r.t.Fatal(err)
	}
	fd, buf := int(r.slave.Fd()), make([]byte, 4096)
	// Once a read finds nothing, the kernel has processed all input.
	for {
		if _, err := unix.Read(fd, buf); errors.Is(err, unix.EAGAIN) {
			break
		} else if err != nil {
			r.t.Fatal(err)
		}
	}
	for _, how := range []int{unix.TCOOFF, unix.TCOON} { // undoes a stop character
		if err := unix.IoctlSetInt(fd, unix.TCXONC, how); err != nil {
			r.t.Fatal(err)
		}
	}
	if _, err := io.WriteString(r.slave, endOfEcho); err != nil {
		r.t.Fatal(err)
	}
	watchdog := time.AfterFunc(20*time.Second, func() { _ = r.term.Close() })
	defer watchdog.Stop()
	var shown []byte
	for !bytes.HasSuffix(shown, []byte(endOfEcho)) {
		n, err := r.term.Source().Read(buf)
		if err != nil {
			r.t.Fatalf("after %q: %v", shown, err)
		}
		shown = append(shown, buf[:n]...)
	}
	return bytes.TrimSuffix(shown, []byte(endOfEcho))
}

// checkEcho types data and compares kernelShows with the echo of the kernel. It reports whether
// kernelShows was exact.
func (r realTerminal) checkEcho(data []byte, attrs proc.Attrs, begun bool) bool {
	r.t.Helper()
	got, e := r.typed(data), kernelShows(data, attrs, begun)
	want := bytes.Join(e.lines, nil)
	switch {
	case !e.exact:
	case e.flushed && bytes.HasSuffix(got, want), bytes.Equal(got, want):
	default:
		r.t.Errorf("typed %q under %+v:\nshown %q\n want %q (flushed %v)", data, attrs, got, want, e.flushed)
	}
	for i, line := range e.lines {
		if end := len(line) - 1; i < len(e.lines)-1 && (line[end] != '\n' || bytes.IndexByte(line, '\n') != end) {
			r.t.Errorf("%q is cut into %q", want, e.lines)
		}
	}
	return e.exact
}

func TestKernelEcho(t *testing.T) {
	r := openRealTerminal(t)
	cooked := func(tio *unix.Termios) { tio.Lflag |= unix.ICANON }
	attrs := r.set(cooked)
	for _, c := range []struct {
		data  string
		exact bool
		shown string
	}{
		{"hello\r", true, "hello\r\n"},
		{"a\nb\rc", true, "a\r\nb\r\nc"},
		{"", true, ""},
		{"\r", true, "\r\n"},
		{"\x1b[A\tx\x00", true, "^[[A\tx^@"},
		{"ab\x7fc\r", true, "ab\b \bc\r\n"},
		{"a\x01\x7f\x7f\x7f", true, "a^A\b \b\b \b\b \b"},
		{"abc\x15d", true, "abc\b \b\b \b\b \bd"},
		{"one two\x17\x17", true, "one two\b \b\b \b\b \b\b \b\b \b\b \b\b \b"},
		{"abc\x12", true, "abc^R\r\nabc"},
		{"a\x16\x03b", true, "a^\b^Cb"},
		{"a\tb\x7f\x7f", false, ""},
		{"a\x04b\x04\x04", true, "ab"},
		{"a\x13b\x11c", true, "abc"},
		{"ab\x03cd\r", true, "^Ccd\r\n"},
		{"\xff\xc3\xbc\r", true, "\xff\xc3\xbc\r\n"},
	} {
		r.set(cooked) // discards the line before
		if exact := r.checkEcho([]byte(c.data), attrs, false); exact != c.exact {
			t.Errorf("%q: exact %v", c.data, exact)
		}
		if e := kernelShows([]byte(c.data), attrs, false); c.exact && string(bytes.Join(e.lines, nil)) != c.shown {
			t.Errorf("%q: %q, want %q", c.data, e.lines, c.shown)
		}
	}
	for _, erasing := range []string{"\x7f", "\x15", "a\x15", "\x17", "a\x17", " \x17", "\x12", "a\x7f\x7f"} {
		if kernelShows([]byte(erasing), attrs, true).exact {
			t.Errorf("%q erases unknown characters, and its echo is called exact", erasing)
		}
	}
}

// The echo of random input under random modes is known byte for byte.
func TestKernelEchoInRandomModes(t *testing.T) {
	r := openRealTerminal(t)
	rounds := 3000
	if *long {
		rounds = 100_000
	}
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 1))
	exact := 0
	for range rounds {
		attrs := r.set(func(tio *unix.Termios) { randomModes(random, tio) })
		data := randomTyping(random, attrs)
		// Input in two parts has the same echo as at once, apart from line editing.
		cut := random.IntN(len(data) + 1)
		if r.checkEcho(data[:cut], attrs, false) {
			exact++
		}
		if random.IntN(2) == 0 && !bytes.ContainsRune(data[:cut], rune(attrs.Shown.Literal)) {
			r.checkEcho(data[cut:], attrs, cut > 0)
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	if exact < rounds/2 {
		t.Errorf("%d of %d are exact", exact, rounds)
	}
}

func randomModes(r *rand.Rand, tio *unix.Termios) {
	flip := func(flags *uint32, choice ...uint32) {
		for _, f := range choice {
			if *flags &^= f; r.IntN(2) == 0 {
				*flags |= f
			}
		}
	}
	flip(&tio.Iflag, unix.ICRNL, unix.INLCR, unix.IXON, unix.IUTF8, unix.IXANY)
	flip(&tio.Oflag, unix.OPOST, unix.ONLCR, unix.ONLRET)
	flip(&tio.Lflag, unix.ISIG, unix.IEXTEN, unix.ECHOE, unix.ECHOK, unix.ECHOKE, unix.ECHONL, unix.ECHOCTL, unix.NOFLSH)
	tio.Iflag &^= unix.ISTRIP | unix.IUCLC | unix.PARMRK | unix.IGNCR
	tio.Oflag &^= unix.OLCUC | unix.ONOCR | unix.OCRNL | unix.TABDLY
	tio.Lflag = tio.Lflag&^(unix.ECHOPRT|unix.EXTPROC) | unix.ECHO | unix.ICANON
	rarely := func(flags *uint32, choice ...uint32) {
		for _, f := range choice {
			if r.IntN(12) == 0 {
				*flags ^= f
			}
		}
	}
	rarely(&tio.Iflag, unix.ISTRIP, unix.IGNCR)
	rarely(&tio.Oflag, unix.OCRNL, unix.XTABS, unix.ONOCR)
	// ECHOPRT is left out: its closing slash would be shown under the modes of the next round.
	rarely(&tio.Lflag, unix.ECHO, unix.ICANON, unix.ICANON)
	for i, c := range map[int]byte{
		unix.VERASE: 0x7f, unix.VKILL: 0x15, unix.VWERASE: 0x17, unix.VLNEXT: 0x16, unix.VREPRINT: 0x12, unix.VEOF: 4,
		unix.VEOL: 0, unix.VEOL2: 0, unix.VINTR: 3, unix.VQUIT: 0x1c, unix.VSUSP: 0x1a, unix.VSTART: 0x11, unix.VSTOP: 0x13,
	} {
		if tio.Cc[i] = c; r.IntN(10) == 0 {
			tio.Cc[i] = []byte{0, 'x', ';', '\t', 8, 1}[r.IntN(6)]
		}
	}
}

func randomTyping(r *rand.Rand, a proc.Attrs) []byte {
	chars := []byte{a.Erase, a.Kill, a.EOF, a.EOL, a.Shown.WordErase, a.Shown.Literal, a.Shown.Reprint, a.Shown.EOL2}
	rare := []byte{a.Intr, a.Quit, a.Susp, a.Shown.Start, a.Shown.Stop}
	pieces := []string{"\r", "\n", "\t", "ü", "€", "\xff", "\x00", "\x1b", "\x80", "_", " ", "\b", "\x01", "\x84"}
	var data []byte
	for n := r.IntN(40); len(data) < n; {
		switch r.IntN(12) {
		case 0:
			data = append(data, chars[r.IntN(len(chars))])
		case 1:
			if r.IntN(4) == 0 {
				data = append(data, rare[r.IntN(len(rare))])
			}
		case 2, 3:
			data = append(data, pieces[r.IntN(len(pieces))]...)
		default:
			data = append(data, slices.Concat([]byte("ab c;x1"))[r.IntN(7)])
		}
	}
	return data
}
