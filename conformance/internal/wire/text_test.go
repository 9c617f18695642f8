package wire

import (
	"bufio"
	"strings"
	"testing"
)

// TestNotText checks that input is rejected that Go's decoder would silently repair.
func TestNotText(t *testing.T) {
	for _, test := range []struct{ raw, want string }{
		{`{"a":"b"}`, ""},
		{`{"a":"ü😀\u00fc\\u00"}`, ""},
		{`{"a":"\ud83d\ude00\n\\ud83d"}`, ""},
		{"{\"a\":\"\xff\"}", "this is no UTF-8"},
		{"{\"a\":\"\xed\xa0\x80\"}", "this is no UTF-8"},
		{`{"a":"\ud83d"}`, "half of a surrogate pair stands alone"},
		{`{"a":"\ud83d\n"}`, "half of a surrogate pair stands alone"},
		{`{"a":"\ud83dx\ude00"}`, "half of a surrogate pair stands alone"},
		{`{"a":"\ude00"}`, "half of a surrogate pair stands alone"},
		{`{"a":"\ud83d\ud83d\ude00"}`, "half of a surrogate pair stands alone"},
	} {
		if got := notText([]byte(test.raw)); got != test.want {
			t.Errorf("%q: %q, not %q", test.raw, got, test.want)
		}
	}
}

// TestHeaderLines checks that text printed between two messages is not accepted as a header.
func TestHeaderLines(t *testing.T) {
	for _, test := range []struct{ wire, want string }{
		{"Content-Length: 2\r\n\r\n{}", ""},
		{"content-length:2\r\nContent-Type: application/vscode-jsonrpc; charset=utf-8\r\n\r\n{}", ""},
		{"debug: sending\nContent-Length: 2\r\n\r\n{}", "expected a header"},
		{"going to send: it\r\nContent-Length: 2\r\n\r\n{}", "expected a header"},
		{"Content-Length: 2\n\n{}", "expected a header"},
		{"Content-Length : 2\r\n\r\n{}", "expected a header"},
	} {
		body, err := ReadFrame(bufio.NewReader(strings.NewReader(test.wire)), "header")
		if test.want == "" && (err != nil || string(body) != "{}") || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%q: %q, %v", test.wire, body, err)
		}
	}
}
