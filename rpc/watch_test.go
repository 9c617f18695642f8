package rpc_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestWatch(t *testing.T) {
	s := start(t)
	for _, mode := range []string{"pipe", "pty"} {
		h := s.pty(`echo "error 7 at x"; printf '\033[31merr\033[0mor 8 at y\n'; echo fine; echo "error 9 at z"`, "mode", mode, "watch", []obj{
			{"pattern": `error (\d)(?: at (?<where>\w))(!)?`},
			{"pattern": `ERROR \d`, "flags": "i", "once": true},
			{"pattern": `\x1b\[\d+m`, "on": "raw"},
		})
		s.event(h, "job/closed")
		var got [4][]event
		for _, e := range s.all(h, "job/patternMatched") {
			got[e.WatchID] = append(got[e.WatchID], e)
		}
		if len(got[1]) != 3 || len(got[2]) != 1 || len(got[3]) != 2 {
			t.Fatalf("%s: %d, %d and %d matches, want 3, 1 and 2", mode, len(got[1]), len(got[2]), len(got[3]))
		}
		for i, want := range []string{"7 x", "8 y", "9 z"} {
			e := got[1][i]
			equal(t, "groups", fmt.Sprint(deref(t, e.Groups[0]), " ", deref(t, e.Named["where"])), want)
			equal(t, "the group that took no part", e.Groups[2], nil)
			equal(t, "line", e.Line, "error "+want[:1]+" at "+want[2:])
		}
		// Positions are those of the raw bytes, including escape sequences.
		all := s.output(h, got[1][1].Stream)
		equal(t, "raw bytes of a plain match", all[got[1][1].Offset:got[1][1].EndOffset], "err\x1b[0mor 8 at y")
		equal(t, "raw bytes of a raw match", all[got[3][1].Offset:got[3][1].EndOffset], "\x1b[0m")
	}
}

// TestWatchOfTwoStreams: a watch searches each stream, or the one that it names.
func TestWatchOfTwoStreams(t *testing.T) {
	s := start(t)
	h := s.pipe("echo mark; echo mark >&2", "watch", []obj{{"pattern": "mark"}, {"pattern": "mark", "stream": "stderr"}})
	s.event(h, "job/closed")
	counts := map[string]int{}
	for _, e := range s.all(h, "job/patternMatched") {
		counts[fmt.Sprint(e.WatchID, " ", e.Stream)]++
	}
	equal(t, "matches", fmt.Sprint(counts), fmt.Sprint(map[string]int{"1 stderr": 1, "1 stdout": 1, "2 stderr": 1}))
}

// TestWatchHoweverSplit: a match does not depend on how the bytes arrived.
func TestWatchHoweverSplit(t *testing.T) {
	s := start(t)
	h := s.pipe("read x; printf pass; read x; printf wo; read x; printf rd; read x; printf ' end'; read x", "stdin", "open",
		"watch", []obj{{"pattern": `pass\w+`}})
	for _, part := range []string{"pass", "passwo", "password", "password end"} {
		w := s.write(h, "\n", "wait", obj{"until": until(obj{"bytes": 1})})
		equal(t, "output so far", w.Outcome.Output["stdout"].NextOffset, int64(len(part)))
		if part == "passwo" {
			s.await(h, obj{"quietMs": 200}) // longer than a match at the end stays open: "passwo" counts
		}
	}
	s.write(h, "\n")
	s.event(h, "job/closed")
	var got []string
	for _, e := range s.all(h, "job/patternMatched") {
		got = append(got, e.Match)
	}
	if text := strings.Join(got, " "); text != "passwo" && text != "pass" && text != "password" {
		t.Errorf("matches %q, want one", text)
	}
}

// TestWatchAtTheEnd: a match that depends on the end counts at the end, before exited.
func TestWatchAtTheEnd(t *testing.T) {
	s := start(t)
	h := s.pipe("printf 'no newline 42'", "watch", []obj{{"pattern": `(\d+)$`}})
	s.event(h, "job/closed")
	m := s.all(h, "job/patternMatched")
	if len(m) != 1 || m[0].Match != "42" {
		t.Fatalf("matches %+v, want 42", m)
	}
	if exited := s.event(h, "job/exited"); m[0].Seq > exited.Seq {
		t.Error("the match comes after exited")
	}
}

// TestCharactersAreNotSplit: a program writes its characters byte by byte, each byte when the one before has arrived;
// no chunk of text ever ends inside a character.
func TestCharactersAreNotSplit(t *testing.T) {
	s := start(t)
	// The bytes of x é € 😀 and of an unfinished €.
	octal := []string{"170", "303", "251", "342", "202", "254", "360", "237", "230", "200", "342", "202"}
	var script strings.Builder
	for _, b := range octal {
		fmt.Fprintf(&script, "read x; printf '\\%s'; ", b)
	}
	h := s.pipe(script.String(), "stdin", "open")
	for range octal {
		s.write(h, "\n", "wait", obj{"until": until(obj{"bytes": 1})})
	}
	equal(t, "output", s.output(h, "stdout"), "xé€😀\xe2\x82")
	checkChunks(t, s, h)
}

// TestCharactersAreNotSplitInAFlood: the same if chunks are cut by size.
func TestCharactersAreNotSplitInAFlood(t *testing.T) {
	needs(t, "python3")
	s := start(t)
	for _, mode := range []string{"pipe", "pty"} {
		h := do[jobStarted](s, "job/start", obj{"mode": mode, "argv": []string{"python3", "-c",
			`import os
b = ("x" + "é€😀" * 40000).encode()
while b: b = b[os.write(1, b[:4093]):]`}}).Job.Handle
		stream := map[string]string{"pipe": "stdout", "pty": "pty"}[mode]
		if want := "x" + strings.Repeat("é€😀", 40000); s.output(h, stream) != want {
			t.Errorf("%s: %d bytes, want %d", mode, len(s.output(h, stream)), len(want))
		}
		checkChunks(t, s, h)
	}
}

type jobStarted = struct{ Job struct{ Handle int64 } }

// checkChunks checks that every chunk consists of whole characters, except for a broken one at the end.
func checkChunks(t *testing.T, s *session, h int64) {
	t.Helper()
	chunks := s.all(h, "job/output")
	for i, e := range chunks {
		if data := e.data(); !utf8.Valid(data) && i < len(chunks)-1 {
			t.Errorf("chunk %d of %d is %q", i, len(chunks), data[max(len(data)-8, 0):])
		}
	}
}

// TestNoMatchAfterClosed: job/closed is the last event of a job, even if a later watch matches its output.
func TestNoMatchAfterClosed(t *testing.T) {
	s := start(t)
	h := s.pipe("echo hello")
	s.event(h, "job/closed")
	do[none](s, "job/watch", obj{"handle": h, "pattern": "hello", "from": "start"})
	do[none](s, "job/unwatch", obj{"handle": h, "watchId": 1}) // by then it has matched
	s.run("true")
	equal(t, "matches", len(s.all(h, "job/patternMatched")), 0)
}
