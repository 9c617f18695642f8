package proc

import (
	"encoding/binary"
	"strings"
	"testing"
)

func TestArgumentsOf(t *testing.T) {
	kept := func(count uint32, text string) []byte {
		return append(binary.NativeEndian.AppendUint32(nil, count), text...)
	}
	for _, test := range []struct {
		name string
		text []byte
		want string
	}{
		{"nothing", nil, ""},
		{"too short", []byte{1, 0}, ""},
		{"no text", kept(2, ""), ""},
		{"the path alone", kept(1, "/bin/cat\x00\x00\x00"), ""},
		{"usual", kept(2, "/bin/cat\x00\x00\x00\x00cat\x00-n\x00HOME=/x\x00"), "cat -n"},
		{"an empty argument", kept(3, "/bin/sh\x00\x00sh\x00\x00x\x00A=b\x00"), "sh  x"},
		{"cut off", kept(2, "/bin/cat\x00cat\x00-"), "cat"},
		{"a count that lies", kept(1<<31, "/bin/cat\x00cat\x00-n\x00"), "cat -n"},
		{"no UTF-8", kept(1, "/bin/x\x00\xff\xfe\x00"), "?"},
		{"long", kept(2, "/bin/x\x00"+strings.Repeat("y", 300)+"\x00z\x00"), strings.Repeat("y", 256)},
	} {
		if got := argumentsOf(test.text); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}
