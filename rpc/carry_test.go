package rpc

import (
	"bytes"
	"testing"
	"unicode/utf8"
)

// FuzzCarry cuts a stream anywhere, as reads do, and sends it as a lane does: bytes that may be the start of a
// character wait for the next piece. Text stays text, no character is cut, and every byte is sent once.
func FuzzCarry(f *testing.F) {
	f.Add([]byte("plain"), []byte{1, 2})
	f.Add([]byte("äöü€𝄞\xff\xf0\x9f"), []byte{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1})
	f.Add([]byte("𝄞𝄞𝄞\x80\x80\x80\x80"), []byte{3, 0, 2, 5})
	f.Add([]byte("\xed\xa0\x80\xe2\x82"), []byte{2, 2, 1})
	f.Fuzz(func(t *testing.T, stream, cuts []byte) {
		var sent [][]byte
		var waiting []byte
		send := func(p []byte, last bool) {
			waiting = append(waiting, p...)
			hold := incompleteTail(waiting)
			if last {
				hold = 0
			}
			if hold > 3 || hold > len(waiting) {
				t.Fatalf("%d bytes of %q are held back", hold, waiting)
			}
			if n := len(waiting) - hold; n > 0 {
				sent = append(sent, bytes.Clone(waiting[:n]))
				waiting = waiting[n:]
			}
		}
		rest := stream
		for _, c := range cuts {
			n := min(int(c), len(rest))
			send(rest[:n], false)
			rest = rest[n:]
		}
		send(rest, true)
		if got := bytes.Join(sent, nil); !bytes.Equal(got, stream) {
			t.Fatalf("sent %q of %q", got, stream)
		}
		for _, p := range sent {
			if utf8.Valid(stream) && !utf8.Valid(p) {
				t.Fatalf("a character of %q is cut: %q", stream, sent)
			}
			e := outputEvent{Stream: "pty", Data: p}
			if text := bytes.Contains(appendOutput(nil, &e), []byte(`"text":`)); text != utf8.Valid(p) {
				t.Fatalf("%q as text: %v", p, text)
			}
		}
	})
}
