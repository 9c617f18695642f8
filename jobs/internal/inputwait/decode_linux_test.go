package inputwait

import (
	"encoding/binary"
	"testing"
	"time"
	"unsafe"
)

func TestParseStat(t *testing.T) {
	const rest = " 34817 4711 4194304 120 0 0 0 1 2 0 0 20 0 3 0 987654 1 2 3\n"
	for _, test := range []struct {
		text string
		want stat
		name string
		ok   bool
	}{
		{"12 (cat) S 1 12 12" + rest, stat{state: 'S', group: 12, tty: 34817, threads: 3, start: 987654}, "cat", true},
		{"12 (a) (b) S 1 7) T 1 13 12" + rest, stat{state: 'T', group: 13, tty: 34817, threads: 3, start: 987654}, "a) (b) S 1 7", true},
		{"12 (x) S 1 0 0 0 -1 64 1 2 3 4 5 6 7 8 20 0 1 0 5 0", stat{state: 'S', threads: 1, start: 5}, "x", true},
		{"12 (x) S 1 12 12 -2147483647 -1 64 1 2 3 4 5 6 7 8 20 0 1 0 5 0", stat{state: 'S', group: 12, tty: 0x80000001, threads: 1, start: 5}, "x", true},
		{"12 (cat) S 1 12", stat{}, "", false},
		{"12 cat S", stat{}, "", false},
		{"", stat{}, "", false},
	} {
		got, ok := parseStat([]byte(test.text))
		copy(test.want.name[:], test.name)
		if ok != test.ok || ok && (got != test.want || got.comm() != test.name) {
			t.Errorf("%q: %+v, %v", test.text, got, ok)
		}
	}
}

// Names are printable, whatever they contain.
func TestName(t *testing.T) {
	for name, want := range map[string]string{
		"cat": "cat", "tmux: server": "tmux: server", "größe": "größe", "": "",
		"\x1b]0;x\a": "\ufffd]0;x\ufffd", "a\nb\x7f": "a\ufffdb\ufffd", "\xff": "\ufffd", "cut \xc3": "cut \ufffd",
		"\u202e": "\ufffd", "\u009b1m": "\ufffd1m",
	} {
		var s stat
		copy(s.name[:], name)
		if got := s.comm(); got != want {
			t.Errorf("%q: %q", name, got)
		}
	}
}

func TestParseCall(t *testing.T) {
	for _, test := range []struct {
		text string
		want call
		ok   bool
	}{
		{"running\n", call{running: true}, true},
		{"-1 0x7ffc67f729d8 0x7f2ef190e503\n", call{number: -1}, true},
		{"0 0x0 0x7ffc 0x400 0x0 0x0 0xffffffffffffffff 0x7ffc67f729d8 0x7f2e\n",
			call{number: 0, args: [6]uint64{0, 0x7ffc, 0x400, 0, 0, 1<<64 - 1}, sp: 0x7ffc67f729d8}, true},
		{"0 0x0 0x7ffc", call{}, false},
		{"0 0x0 0x0 0x0 0x0 0x0 zz 0x0 0x0", call{}, false},
		{"", call{}, false},
	} {
		got, ok := parseCall([]byte(test.text))
		if ok != test.ok || ok && got != test.want {
			t.Errorf("%q: %+v, %v", test.text, got, ok)
		}
	}
}

func TestNextWatched(t *testing.T) {
	text := []byte("pos:\t0\nflags:\t02000002\nmnt_id:\t16\nino:\t1057\n" +
		"tfd:        5 events:       19 data:                5  pos:0 ino:3 sdev:e\n" +
		"tfd:       15 events: 80000001 data:  ffffffff0000000f  pos:0 ino:1a2B sdev:e\n" +
		"tfd:        6 events:        4 data: 6\n" +
		"tfd:        x events:        1\n" +
		"tfd:        7 events: 40000000 data: 7 pos:0 ino:9 sdev:9")
	want := []watched{
		{interest{5, true, false, false}, 3, true},
		{interest{15, true, false, false}, 0, false}, // The kernel writes lower case.
		{interest{6, false, true, false}, 0, false},
		{interest{7, false, false, false}, 9, true}, // It has expired, and is not armed again.
	}
	for _, w := range want {
		var got watched
		var ok bool
		if got, text, ok = nextWatched(text); !ok || got.interest != w.interest || got.named != w.named || w.named && got.ino != w.ino {
			t.Errorf("%+v, %v instead of %+v", got, ok, w)
		}
	}
	if got, _, ok := nextWatched(text); ok {
		t.Errorf("and another: %+v", got)
	}
}

func TestPollEntry(t *testing.T) {
	for _, test := range []struct {
		fd     int32
		events uint16
		want   interest
	}{
		{0, 1, interest{0, true, false, false}},
		{3, 5, interest{3, true, true, false}},
		{1, 0, interest{1, false, false, false}},    // errors only, as with tail -f
		{2, 0x18, interest{2, false, false, false}}, // the same, requested explicitly
		{-1, 1, interest{-1, true, false, false}},
		{4, 0x42, interest{4, true, false, true}},
		{4, 0x2000, interest{4, false, false, true}},
		{4, 2, interest{4, false, false, true}},
	} {
		b := binary.LittleEndian.AppendUint32(nil, uint32(test.fd))
		b = binary.LittleEndian.AppendUint16(b, test.events)
		b = binary.LittleEndian.AppendUint16(b, 0xffff) // revents is ignored
		if len(b) != pollSize {
			t.Fatal(len(b))
		}
		if got := pollEntry(b); got != test.want {
			t.Errorf("fd %d, events %#x: %+v", test.fd, test.events, got)
		}
	}
}

func TestInSet(t *testing.T) {
	set := []byte{0b00000001, 0b10000000, 0, 0, 0, 0, 0, 0}
	for fd := range 100 {
		if got := inSet(set, fd); got != (fd == 0 || fd == 15) {
			t.Errorf("%d: %v", fd, got)
		}
	}
	if inSet(nil, 0) {
		t.Error("a set that is not there has a member")
	}
}

func TestTimeouts(t *testing.T) {
	at := func(s, parts int64) []byte {
		return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, uint64(s)), uint64(parts))
	}
	for _, test := range []struct {
		got, want time.Duration
	}{
		{duration(at(1, 500), time.Nanosecond), time.Second + 500},
		{duration(at(0, 250000), time.Microsecond), 250 * time.Millisecond},
		{duration(at(1<<60, 0), time.Nanosecond), 1 << 31 * time.Second},
		{milliseconds(0xffffffff), forever},
		{milliseconds(0xffffffffffffffff), forever},
		{milliseconds(100), 100 * time.Millisecond},
		{milliseconds(0), 0},
	} {
		if test.got != test.want {
			t.Errorf("%v instead of %v", test.got, test.want)
		}
	}
}

func TestKindOfLink(t *testing.T) {
	for link, want := range map[string]fileKind{
		"anon_inode:[eventfd]": isOwn, "anon_inode:[timerfd]": isTimer, "anon_inode:[signalfd]": isOwn,
		"anon_inode:inotify": isWatch, "anon_inode:[eventpoll]": isEpoll, "anon_inode:[pidfd]": isPidfd,
		"pidfd:[4711]": isPidfd, "anon_inode:[io_uring]": isOther, "/home/eventfd": isOther, "": isOther,
	} {
		if got := kindOfLink([]byte(link)); got != want {
			t.Errorf("%q: %d", link, got)
		}
	}
}

func TestParseTimer(t *testing.T) {
	const head = "pos:\t0\nflags:\t02\nclockid: 1\nticks: 0\nsettime flags: 01\n"
	for _, test := range []struct {
		text            string
		value, interval time.Duration
		ok              bool
	}{
		{head + "it_value: (0, 49406829)\nit_interval: (1, 0)\n", 49406829, time.Second, true},
		{head + "it_value: (0, 0)\nit_interval: (0, 0)\n", 0, 0, true},
		{head + "it_value: (9223372036, 0)\n", 1 << 31 * time.Second, 0, true},
		{head + "it_value: (x, 0)\n", 0, 0, false},
		{head, 0, 0, false},
	} {
		value, interval, ok := parseTimer([]byte(test.text))
		if value != test.value && test.ok || interval != test.interval || ok != test.ok {
			t.Errorf("%q: %v, %v, %v", test.text, value, interval, ok)
		}
	}
}

func TestTimerIn(t *testing.T) {
	for _, test := range []struct {
		ticks, value, interval string
		want                   time.Duration
	}{
		{"0", "(0, 0)", "(0, 0)", forever}, {"1", "(0, 0)", "(0, 0)", 0}, {"1", "(0, 0)", "(0, 100000000)", 100 * time.Millisecond},
		{"0", "(0, 5)", "(1, 0)", time.Second}, {"0", "(2, 0)", "(0, 0)", 2 * time.Second}, {"0", "x", "(0, 0)", unknownTimeout},
	} {
		text := "clockid: 1\nticks: " + test.ticks + "\nsettime flags: 01\nit_value: " + test.value + "\nit_interval: " + test.interval + "\n"
		if got := timerIn([]byte(text)); got != test.want {
			t.Errorf("%+v: %v", test, got)
		}
	}
}

func TestSooner(t *testing.T) {
	const short, long = shortTimeout / 2, 2 * shortTimeout
	for _, test := range []struct{ a, b, want time.Duration }{
		{forever, forever, forever}, {forever, long, long}, {short, long, short}, {unknownTimeout, long, unknownTimeout},
		{unknownTimeout, short, short}, {unknownTimeout, forever, unknownTimeout}, {unknownTimeout, unknownTimeout, unknownTimeout},
	} {
		if got, turned := sooner(test.a, test.b), sooner(test.b, test.a); got != test.want || turned != test.want {
			t.Errorf("%v, %v: %v, %v", test.a, test.b, got, turned)
		}
	}
}

func TestStatusNumber(t *testing.T) {
	text := []byte("Name:\tcat\nvoluntary_ctxt_switches:\t42\nnonvoluntary_ctxt_switches:\t7\n")
	if n, ok := statusNumber(text, "voluntary_ctxt_switches:"); !ok || n != 42 {
		t.Error(n, ok)
	}
	if n, ok := statusNumber(text, "Threads:"); ok {
		t.Error(n, ok)
	}
}

func TestUsage(t *testing.T) {
	for _, test := range []struct {
		text string
		want usage
		ok   bool
	}{
		{"1200 34 5\n", usage{time: 1200, turns: 5}, true},
		{"0 0 0\n", usage{}, false}, // a kernel that does not count
		{"1200 34\n", usage{}, false},
		{"", usage{}, false},
	} {
		var u usage
		if ok := u.parse([]byte(test.text)); ok != test.ok || ok && u != test.want {
			t.Errorf("%q: %+v, %v", test.text, u, ok)
		}
	}
}

func TestDirentNumbers(t *testing.T) {
	var buf []byte
	for _, name := range []string{".", "..", "12", "1234567", "self"} {
		length := (19 + len(name) + 1 + 7) / 8 * 8
		entry := make([]byte, length)
		*(*uint16)(unsafe.Pointer(&entry[16])) = uint16(length)
		copy(entry[19:], name)
		buf = append(buf, entry...)
	}
	if got := direntNumbers(nil, buf); len(got) != 2 || got[0] != 12 || got[1] != 1234567 {
		t.Error(got)
	}
	if got := direntNumbers(nil, buf[:len(buf)-1]); len(got) != 2 {
		t.Error("cut off:", got)
	}
}

// The rules of acceptance.
func TestClaim(t *testing.T) {
	alone := wait{reading: true, timeout: forever, seen: full}
	for _, test := range []struct {
		name    string
		change  func(*wait)
		running bool
		want    claim
	}{
		{"alone", func(*wait) {}, false, claim{Reading, Exact, 0, false}},
		{"a long timeout", func(w *wait) { w.timeout = time.Second }, false, claim{Reading, Likely, 0, false}},
		{"a short timeout", func(w *wait) { w.timeout = 899 * time.Millisecond }, false, claim{Listening, Likely, 929 * time.Millisecond, true}},
		{"a very short timeout", func(w *wait) { w.timeout = time.Millisecond }, false, claim{Listening, Likely, 200 * time.Millisecond, true}},
		{"a short timeout, and another thread", func(w *wait) { w.timeout, w.endless = 99*time.Millisecond, true }, false, claim{Reading, Likely, 0, false}},
		{"others", func(w *wait) { w.others = "a socket" }, false, claim{Listening, Likely, 150 * time.Millisecond, false}},
		{"another for a time", func(w *wait) { w.timed = true }, false, claim{Reading, Likely, 0, false}},
		{"another process runs", func(*wait) {}, true, claim{Listening, Likely, time.Second, false}},
		{"less seen", func(w *wait) { w.seen = sleep }, false, claim{Reading, Likely, 0, false}},
		{"timeout unknown", func(w *wait) { w.seen, w.timeout = sleep, unknownTimeout }, false, claim{Reading, Likely, 200 * time.Millisecond, true}},
		{"ambiguous", func(w *wait) { w.seen, w.ambiguous = sleep, true }, false, claim{Listening, Likely, 500 * time.Millisecond, false}},
	} {
		w := alone
		test.change(&w)
		if got := w.claim(test.running); got != test.want {
			t.Errorf("%s: %+v instead of %+v", test.name, got, test.want)
		}
		if w != alone && !alone.better(&w) || w.better(&alone) {
			t.Errorf("%s is better", test.name)
		}
	}
}

func TestMost(t *testing.T) {
	defer func(was string) { most = was }(most)
	for text, want := range map[string]tier{"": full, "1": full, "2": sleep, "3": alive, "4": nothing, "5": full, "0": full, "22": full} {
		if most = text; bestTier() != want {
			t.Errorf("%q: %d", text, bestTier())
		}
	}
}

func TestPeerAnswer(t *testing.T) {
	e := binary.NativeEndian
	answer := func(kind uint16, inode uint32, attributes ...byte) []byte {
		b := e.AppendUint32(nil, uint32(netlinkHeader+diagMessage+len(attributes)))
		b = append(e.AppendUint16(b, kind), make([]byte, 10)...)
		b = append(b, 1, 1, 1, 0)
		b = append(e.AppendUint32(b, inode), make([]byte, 8)...)
		return append(b, attributes...)
	}
	attribute := func(kind uint16, value ...byte) []byte {
		b := e.AppendUint16(e.AppendUint16(nil, uint16(4+len(value))), kind)
		return append(append(b, value...), make([]byte, (4-len(value)%4)%4)...)
	}
	peer := attribute(diagPeer, e.AppendUint32(nil, 4711)...)
	for _, test := range []struct {
		name string
		b    []byte
		want uint64
	}{
		{"peer", answer(diagByFamily, 12, peer...), 4711},
		{"after another", answer(diagByFamily, 12, append(attribute(0, 'x'), peer...)...), 4711},
		{"another socket", answer(diagByFamily, 13, peer...), 0},
		{"an error", answer(2, 12, peer...), 0},
		{"no peer", answer(diagByFamily, 12), 0},
		{"cut off", answer(diagByFamily, 12, peer[:6]...), 0},
		{"an attribute of no length", answer(diagByFamily, 12, 0, 0, 0, 0, 0, 0, 0, 0), 0},
		{"nothing", nil, 0},
	} {
		if got := peerAnswer(test.b, 12); got != test.want {
			t.Errorf("%s: %d", test.name, got)
		}
	}
}
