package rpc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestAppendJSONString(t *testing.T) {
	cases := []struct{ in, want string }{
		{"", `""`},
		{"plain", `"plain"`},
		{"a\"b\\c/d", `"a\"b\\c/d"`},
		{"\n\r\t\b\f", `"\n\r\t\b\f"`},
		{"\x00\x01\x1b[0m\x1f\x7f", `"\u0000\u0001\u001b[0m\u001f` + "\x7f\""},
		{"<>&'", `"<>&'"`},
		{"\u2028\u2029", "\"\u2028\u2029\""},
		{"é€😀\U0010FFFF\uFFFD", "\"é€😀\U0010FFFF\uFFFD\""},
		{"12345678", `"12345678"`},
		{"1234567\n", `"1234567\n"`},
		{"a\xffb\xf0\x9f", "\"a\uFFFDb\uFFFD\""},
	}
	for _, c := range cases {
		if got := string(appendJSONString([]byte("~"), []byte(c.in))); got != "~"+c.want {
			t.Errorf("%q: %s, want ~%s", c.in, got, c.want)
		}
	}
}

// TestEveryByteAtEveryPlace: the scan of eight bytes at a time finds each byte that is not plain, and no other, at any
// position in a word and in the rest.
func TestEveryByteAtEveryPlace(t *testing.T) {
	for c := range 256 {
		plain := c >= 0x20 && c < 0x80 && c != '"' && c != '\\'
		for length := 1; length <= 20; length++ {
			for at := range length {
				b := bytes.Repeat([]byte("~"), length)
				b[at] = byte(c)
				want := at
				if plain {
					want = length
				}
				if got := plainASCII(b); got != want {
					t.Fatalf("%q: %d plain bytes, want %d", b, got, want)
				}
			}
		}
	}
	for _, pair := range []string{"\x1f\x20", "\"#", "\\]", "\x00\x01", "\x80\x21", "!\x1f"} { // Its neighbour borrows.
		for at := range 7 {
			b := []byte("~~~~~~~~")
			copy(b[at:], pair)
			want := at
			if pair[0] == '!' {
				want++
			}
			if got := plainASCII(b); got != want {
				t.Errorf("%q: %d plain bytes, want %d", b, got, want)
			}
		}
	}
}

func TestAppendOutput(t *testing.T) {
	const (
		start = `{"jsonrpc":"2.0","method":"job/output","params":{`
		most  = math.MaxInt64
	)
	cases := []struct {
		event outputEvent
		want  string
	}{
		{
			outputEvent{Handle: 1, Seq: 2, Stream: "pty", Data: []byte("hello")},
			`"handle":1,"seq":2,"stream":"pty","offset":0,"bytes":5,"text":"hello"`,
		},
		{
			outputEvent{Handle: 9007199254740993, Seq: 3, Stream: "stdout", Offset: 1 << 40, Data: []byte("\x1b[1mé\r\n")},
			`"handle":9007199254740993,"seq":3,"stream":"stdout","offset":1099511627776,"bytes":8,"text":"\u001b[1mé\r\n"`,
		},
		{
			outputEvent{Handle: 1, Seq: 2, Stream: "stderr", Data: []byte("hello"), Base64: true},
			`"handle":1,"seq":2,"stream":"stderr","offset":0,"bytes":5,"base64":"aGVsbG8="`,
		},
		{
			outputEvent{Handle: 1, Seq: 2, Stream: "pty", Data: []byte("plain for more than a word, \n then \xff")},
			`"handle":1,"seq":2,"stream":"pty","offset":0,"bytes":36,"base64":"cGxhaW4gZm9yIG1vcmUgdGhhbiBhIHdvcmQsIAogdGhlbiD/"`,
		},
		{
			outputEvent{Handle: 1, Seq: 2, Stream: "pty", Data: []byte("\xe2\x82")}, // The start of a character.
			`"handle":1,"seq":2,"stream":"pty","offset":0,"bytes":2,"base64":"4oI="`,
		},
		{
			outputEvent{Handle: 1, Seq: 2, Stream: "pty", Offset: 30, GapFrom: 10, GapTo: 30, Late: true, Restart: true},
			`"handle":1,"seq":2,"stream":"pty","offset":30,"bytes":0,"gap":{"from":10,"to":30},"late":true,"restart":true,"text":""`,
		},
		{
			outputEvent{Handle: most, Seq: most, Stream: "stdout", Offset: most, GapFrom: most - 1, GapTo: most, Late: true, Restart: true, Base64: true},
			`"handle":9223372036854775807,"seq":9223372036854775807,"stream":"stdout","offset":9223372036854775807,"bytes":0,` +
				`"gap":{"from":9223372036854775806,"to":9223372036854775807},"late":true,"restart":true,"base64":""`,
		},
		{
			outputEvent{Handle: 1, Seq: 2, Stream: "pty", Offset: 30, GapFrom: 30, GapTo: 30, Base64: true},
			`"handle":1,"seq":2,"stream":"pty","offset":30,"bytes":0,"base64":""`,
		},
	}
	for _, c := range cases {
		if got := string(appendOutput([]byte("~"), &c.event)); got != "~"+start+c.want+"}}" {
			t.Errorf("%q:\n got %s\nwant ~%s%s}}", c.event.Data, got, start, c.want)
		}
		checkOutput(t, &c.event)
	}
}

// decodedOutput is a job/output notification as a client reads it.
type decodedOutput struct {
	JSONRPC string `json:"jsonrpc"`
	Method  string
	Params  struct {
		Handle, Seq, Offset int64
		Bytes               int
		Stream              string
		Text                *string
		Base64              []byte
		Gap                 *struct{ From, To int64 }
		Late, Restart       bool
	}
}

// checkOutput encodes e and decodes it again with encoding/json.
func checkOutput(t *testing.T, e *outputEvent) {
	t.Helper()
	body := appendOutput(nil, e)
	if bytes.ContainsAny(body, "\r\n") {
		t.Errorf("%q: a raw line end in %q", e.Data, body)
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	var d decodedOutput
	if err := decoder.Decode(&d); err != nil || !utf8.Valid(body) {
		t.Fatalf("%q: %v in %q", e.Data, err, body)
	}
	p := d.Params
	data := p.Base64
	if p.Text != nil {
		data = []byte(*p.Text)
	}
	if isText := !e.Base64 && utf8.Valid(e.Data); isText != (p.Text != nil) || isText == (p.Base64 != nil) {
		t.Errorf("%q: text %v, base64 %v", e.Data, p.Text != nil, p.Base64 != nil)
	}
	if !bytes.Equal(data, e.Data) || p.Bytes != len(e.Data) {
		t.Errorf("%q came back as %q, bytes %d", e.Data, data, p.Bytes)
	}
	if d.Method != "job/output" || p.Handle != e.Handle || p.Seq != e.Seq || p.Offset != e.Offset || p.Late != e.Late || p.Restart != e.Restart {
		t.Errorf("%+v came back as %+v", e, d)
	}
	if hasGap := e.GapTo > e.GapFrom; hasGap != (p.Gap != nil) || hasGap && (p.Gap.From != e.GapFrom || p.Gap.To != e.GapTo) {
		t.Errorf("gap %d to %d came back as %v", e.GapFrom, e.GapTo, p.Gap)
	}
	if longest := 6*len(e.Data) + outputOverheadBytes; len(body) > longest {
		t.Errorf("%d bytes of output took %d, promised are at most %d", len(e.Data), len(body), longest)
	}
	if _, bad := parseEnvelope(body); bad != nil {
		t.Errorf("our own parser refuses %q: %v", body, bad)
	}
}

// TestOutputRoundTrip: random bytes of several kinds are decoded exactly.
func TestOutputRoundTrip(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	pieces := []string{"plain text of some length", "\x1b[32m", "é", "€", "😀", "\r\n", "\"", "\\", "\x00", "\x7f", "\u2028"}
	for range 3000 {
		var data []byte
		for range random.IntN(40) {
			data = append(data, pieces[random.IntN(len(pieces))]...)
		}
		e := &outputEvent{Handle: random.Int64(), Seq: random.Int64(), Stream: "pty", Offset: random.Int64(), Data: data}
		checkOutput(t, e)
		if len(data) > 0 {
			data[random.IntN(len(data))] = byte(random.Uint32())
			checkOutput(t, e)
			e.Data = data[random.IntN(len(data)):]
			checkOutput(t, e)
		}
	}
}

func TestOutputAllocations(t *testing.T) {
	dst := make([]byte, 0, 6*32<<10+outputOverheadBytes)
	for name, data := range outputKinds() {
		e := &outputEvent{Handle: 1, Seq: 2, Stream: "pty", Offset: 3, Data: data, GapFrom: 1, GapTo: 2, Late: true, Restart: true}
		if allocs := testing.AllocsPerRun(10, func() { appendOutput(dst, e) }); allocs != 0 {
			t.Errorf("%s: %v allocations, want none", name, allocs)
		}
	}
	text := []byte("a \"title\"\n")
	if allocs := testing.AllocsPerRun(10, func() { appendJSONString(dst, text) }); allocs != 0 {
		t.Errorf("string: %v allocations, want none", allocs)
	}
}

func TestValidUTF8Prefix(t *testing.T) {
	cases := []struct {
		in         string
		n          int
		incomplete bool
	}{
		{"", 0, false},
		{"plain", 5, false},
		{"é€😀", 9, false},
		{"a\xc3", 1, true},
		{"a\xe2", 1, true},
		{"a\xe2\x82", 1, true},
		{"a\xf0", 1, true},
		{"a\xf0\x9f", 1, true},
		{"a\xf0\x9f\x98", 1, true},
		{"\xe2\x82", 0, true},
		{"a\xff", 1, false},
		{"a\xc0", 1, false},              // Starts no character: overlong.
		{"a\xe0\x80", 1, false},          // Overlong.
		{"a\xed\xa0", 1, false},          // A surrogate.
		{"a\xf4\x90", 1, false},          // Above U+10FFFF.
		{"a\xf5", 1, false},              // Starts no character.
		{"a\x80", 1, false},              // Starts no character.
		{"\x80\x80\x80\x80", 0, false},   // Neither does this.
		{"é\x80", 2, false},              // One too many.
		{"\xffa\xe2\x82", 0, false},      // The rest is more than the start of a character.
		{"a\xe2\x82b\xe2\x82", 1, false}, // Likewise.
		{"a\xe2\xe2\x82", 1, false},      // Likewise.
		{"\uFFFD\xef\xbf", 3, true},
	}
	for _, c := range cases {
		if n, incomplete := validUTF8Prefix([]byte(c.in)); n != c.n || incomplete != c.incomplete {
			t.Errorf("%q: %d, %v, want %d, %v", c.in, n, incomplete, c.n, c.incomplete)
		}
	}
}

// checkPrefix checks validUTF8Prefix and incompleteTail against their definitions.
func checkPrefix(t *testing.T, b []byte) {
	t.Helper()
	n, incomplete := validUTF8Prefix(b)
	if !utf8.Valid(b[:n]) {
		t.Errorf("%q: the first %d bytes are not valid", b, n)
	}
	if r, size := utf8.DecodeRune(b[n:]); n < len(b) && (r != utf8.RuneError || size != 1) {
		t.Errorf("%q: %d is not the longest valid prefix", b, n)
	}
	if incomplete != canGoOn(b[n:]) {
		t.Errorf("%q: incomplete is %v", b, incomplete)
	}
	tail := incompleteTail(b)
	if incomplete && tail != len(b)-n || tail > 0 && !canGoOn(b[len(b)-tail:]) {
		t.Errorf("%q: a tail of %d", b, tail)
	}
}

// canGoOn reports whether more bytes can make b one valid character.
func canGoOn(b []byte) bool {
	if len(b) == 0 || len(b) > 3 || utf8.Valid(b) {
		return false
	}
	for _, next := range []string{"\x80", "\x90", "\xa0", "\x8f", "\x80\x80", "\x90\x80", "\xa0\x80", "\x8f\x80", "\x80\x80\x80", "\x90\x80\x80"} {
		whole := append(bytes.Clone(b), next...)
		if r, size := utf8.DecodeRune(whole); size == len(whole) && r != utf8.RuneError {
			return true
		}
	}
	return false
}

// TestPrefixOfEveryPair checks all pairs and, after an E or F byte, all triples of bytes.
func TestPrefixOfEveryPair(t *testing.T) {
	for a := range 256 {
		for b := range 256 {
			checkPrefix(t, []byte{'x', byte(a), byte(b)})
			if a >= 0xe0 && b >= 0x70 && b <= 0xd0 {
				for c := 0x70; c <= 0xd0; c++ {
					checkPrefix(t, []byte{byte(a), byte(b), byte(c)})
				}
			}
		}
	}
}

// FuzzOutput: for any bytes, the event decodes to them, and a chunk cut as a sender cuts it is text.
func FuzzOutput(f *testing.F) {
	for _, seed := range []string{"", "hello", "\x1b[31mé\x1b[0m\r\n", "a\xff", "12345678\xe2\x82", "\u2028\x7f\"\\", "\xef\xbf\xbd"} {
		f.Add([]byte(seed), false, int64(0), int64(0))
		f.Add([]byte(seed), true, int64(3), int64(9))
	}
	f.Fuzz(func(t *testing.T, data []byte, asBase64 bool, from, to int64) {
		checkOutput(t, &outputEvent{Handle: from, Seq: to, Stream: "stdout", Offset: to, Data: data, Base64: asBase64, GapFrom: from, GapTo: to, Late: asBase64})
		checkPrefix(t, data)
		n, _ := validUTF8Prefix(data)
		checkOutput(t, &outputEvent{Stream: "pty", Data: data[:n]})
		var back string
		if err := json.Unmarshal(appendJSONString(nil, data), &back); err != nil || back != strings.ToValidUTF8(string(data), "\uFFFD") {
			t.Errorf("%q as a string: %q, %v", data, back, err)
		}
	})
}

// outputKinds returns 32 KiB of each kind of output: plain log lines, a coloured build log, text that is not ASCII,
// random bytes, and text whose last byte is invalid.
func outputKinds() map[string][]byte {
	const size = 32 << 10
	var ascii, colour, cjk []byte
	for i := 0; len(ascii) < size; i++ {
		ascii = fmt.Appendf(ascii, "2026-11-20T12:34:56.%03dZ INFO  worker %d: request served in %d ms\n", i%1000, i%8, i%97)
	}
	for i := 0; len(colour) < size; i++ {
		colour = fmt.Appendf(colour, "\x1b[1m\x1b[32m✓\x1b[0m Compiling \x1b[36mmodule-%d\x1b[0m v0.%d.1 … \x1b[2m(%d ms)\x1b[0m\r\n", i, i%20, i%300)
	}
	for len(cjk) < size {
		cjk = append(cjk, "端末の出力は文字列として送る。\n"...)
	}
	random := rand.New(rand.NewPCG(3, 4))
	binary := make([]byte, size)
	for i := range binary {
		binary[i] = byte(random.Uint32())
	}
	n, _ := validUTF8Prefix(cjk[:size])
	late := bytes.Clone(ascii[:size])
	late[size-1] = 0xff
	c, _ := validUTF8Prefix(colour[:size])
	return map[string][]byte{"ascii": ascii[:size], "colour": colour[:c], "cjk": cjk[:n], "binary": binary, "late": late}
}

func BenchmarkAppendOutput(b *testing.B) {
	for name, data := range outputKinds() {
		b.Run(name, func(b *testing.B) {
			dst := make([]byte, 0, 6*len(data)+outputOverheadBytes)
			e := &outputEvent{Handle: 1, Seq: 2, Stream: "pty", Offset: 3, Data: data}
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				appendOutput(dst, e)
			}
		})
	}
}
