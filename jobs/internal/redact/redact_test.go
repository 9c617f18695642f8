package redact

import (
	"bytes"
	"strings"
	"testing"
)

// A step of a script: a chunk, a pause, or the end.
const (
	pause = "\x00pause"
	flush = "\x00flush"
)

// play performs the steps with a redactor, and returns the output of each.
func play(s *Set, steps ...string) (out []string) {
	r := NewRedactor(s)
	for _, step := range steps {
		switch step {
		case pause:
			out = append(out, string(r.Pause()))
		case flush:
			out = append(out, string(r.Flush()))
		default:
			out = append(out, string(r.Write([]byte(step))))
		}
	}
	return out
}

func TestRedactor(t *testing.T) {
	for _, c := range []struct {
		name    string
		secrets string // separated by blanks
		steps   []string
		want    []string
	}{
		{"none", "", []string{"secret"}, []string{"secret"}},
		{"alone", "secret", []string{"secret"}, []string{"***"}},
		{"in text", "secret", []string{"the secret is out"}, []string{"the *** is out"}},
		{"twice", "secret", []string{"secretsecret, secret"}, []string{"***, ***"}},
		{"cut", "secret", []string{"a sec", "ret b"}, []string{"a ", "*** b"}},
		{"byte by byte", "secret", []string{"s", "e", "c", "r", "e", "t", "s"}, []string{"", "", "", "", "", "***", ""}},
		{"not the secret", "secret", []string{"a sec", "tor"}, []string{"a ", "sector"}},
		{"begins within itself", "abcabd", []string{"abcabcabd"}, []string{"abc***"}},
		{"overlaps itself", "abcabc", []string{"abcabcabc!"}, []string{"***!"}},
		{"overlaps itself, cut", "abcabc", []string{"abcabc", "ab", "c!"}, []string{"***", "", "!"}},
		{"overlaps itself and fails", "abcabc", []string{"abcabc", "ab", "!"}, []string{"***", "", "ab!"}},
		{"one letter", "aaaaaa", []string{"aaaaaaaaaaaaab"}, []string{"***b"}},

		{"prefix of another", "secret secretary", []string{"secretaries, secretary"}, []string{"***aries, ***"}},
		{"prefix of another, cut", "secret secretary", []string{"secret", "ar", "y."}, []string{"***", "", "."}},
		{"prefix of another, cut and failed", "secret secretary", []string{"secret", "ar", "i."}, []string{"***", "", "ari."}},
		{"suffix of another", "password word+6", []string{"password+6", " word+6"}, []string{"***", " ***"}},
		{"inside of another", "cdefgh abcdefghij", []string{"abcdefgh", "ij", "abcdefgh", "!"}, []string{"", "***", "", "ab***!"}},
		{"several inside of another", "aaaaaa bbbbbb aaaaaaxbbbbbbxyyyyyyyyyyyyz", []string{
			"aaaaaaxbbbbbbxyyyyyyyyyyyy", "z", ".aaaaaaxbbbbbbxyyyyyyyyyyyy", "!",
		}, []string{"***", "", ".***", "x***xyyyyyyyyyyyy!"}},
		{"overlap each other", "abcdef defghi", []string{"abcdefghi"}, []string{"***"}},
		{"overlap each other, cut", "abcdef defghi", []string{"abcdef", "gh", "i!"}, []string{"***", "", "!"}},
		{"touch each other", "abcdef ghijkl", []string{"abcdefghijkl"}, []string{"***"}},
		{"one goes over into another", "abcdef defxyz", []string{"abcdefxyz"}, []string{"***"}},
		{"one fails into another", "abcdefgh defxyz", []string{"abcdef", "xyz"}, []string{"", "abc***"}},

		{"pause under half", "secret", []string{"a se", pause, "cret b"}, []string{"a ", "se", "*** b"}},
		{"pause at half", "secret", []string{"a sec", pause, pause, "ret"}, []string{"a ", "", "", "***"}},
		{"pause at half, and not it", "secret", []string{"a sec", pause, "ond"}, []string{"a ", "", "second"}},
		{"pauses", "secret", []string{"s", pause, "e", pause, "c", pause, "r", pause, "e", pause, "t", pause},
			[]string{"", "s", "", "e", "", "", "", "", "", "", "***", ""}},
		{"pause, then another", "secret", []string{"se", pause, "secret"}, []string{"", "se", "***"}},
		{"pause within two, half of one", "abcdefghijklmnop efghij", []string{"abcdefg", pause, "hij", pause, "!"},
			[]string{"", "abcd", "***", "", "!"}},
		{"pause behind a mark", "abcabc", []string{"abcabca", pause, "bc"}, []string{"***", "", ""}},
		{"pause behind a mark of a prefix", "secret secretaryshipsofstate", []string{"secretar", pause, "yshipsofstate"}, []string{"***", "ar", "***"}},

		{"end", "secret", []string{"a secre", flush}, []string{"a ", "secre"}},
		{"end within another", "cdefgh abcdefghij", []string{"abcdefghi", flush}, []string{"", "ab***i"}},
		{"more behind the end", "secret", []string{"a secre", flush, "t"}, []string{"a ", "secre", "***"}},
		{"bytes", "\xff\x00\xfe\x00\xfd\x00", []string{"\xff\x00\xfe", "\x00\xfd\x00\xff"}, []string{"", "***"}},
		{"nothing", "secret", []string{"", pause, flush}, []string{"", "", ""}},
		{"short ones", "ab c", []string{"xabcx"}, []string{"x***x"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := play(New(strings.Split(c.secrets, " ")), c.steps...)
			if g, w := strings.Join(got, "|"), strings.Join(c.want, "|"); g != w {
				t.Errorf("%q: got %q, want %q", c.steps, g, w)
			}
		})
	}
}

func TestHeld(t *testing.T) {
	r := NewRedactor(New([]string{"secret", "elephantine"}))
	for _, c := range []struct {
		step         string
		all, pausing int
	}{
		{"x", 0, 0},
		{"s", 1, 1},
		{"e", 2, 2},
		{pause, 0, 0},
		{"c", 1, 0}, // half of the secret
		{"r", 2, 0},
		{"e", 3, 0},
		{"l", 2, 2}, // a beginning of elephantine
		{"ephan", 7, 0},
		{flush, 0, 0},
		{"tine", 0, 0},
	} {
		switch c.step {
		case pause:
			r.Pause()
		case flush:
			r.Flush()
		default:
			r.Write([]byte(c.step))
		}
		if all, pausing := r.Held(); all != c.all || pausing != c.pausing {
			t.Errorf("behind %q: held %d, of which a pause sets free %d; want %d and %d", c.step, all, pausing, c.all, c.pausing)
		}
	}
}

// TestUse checks secrets that are added while the stream continues.
func TestUse(t *testing.T) {
	one, two := New([]string{"secret"}), New([]string{"secret", "cretin"})
	for _, c := range []struct {
		name         string
		before       []string
		after        []string
		want, wanted string
	}{
		{"nothing has begun", []string{"x"}, []string{"secret cretin"}, "x", "*** ***"},
		{"the old one has", []string{"sec"}, []string{"ret!"}, "", "***!"},
		{"a part of it was seen", []string{"se", pause}, []string{"cret!"}, "se", "***!"},
		{"the new one has, within it", []string{"secre"}, []string{"tin!"}, "", "***!"},
		{"the old one was replaced", []string{"secret"}, []string{"in!"}, "***", "!"},
		{"it comes to nothing", []string{"secre"}, []string{"!"}, "", "secre!"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := NewRedactor(one)
			var got, later strings.Builder
			do := func(to *strings.Builder, steps []string) {
				for _, s := range steps {
					if s == pause {
						to.Write(r.Pause())
					} else {
						to.Write(r.Write([]byte(s)))
					}
				}
			}
			do(&got, c.before)
			r.Use(two)
			if r.set != two {
				t.Error("another set is in use")
			}
			r.Use(two)
			do(&later, c.after)
			later.Write(r.Flush())
			if got.String() != c.want || later.String() != c.wanted {
				t.Errorf("got %q, and then %q; want %q and %q", &got, &later, c.want, c.wanted)
			}
		})
	}
	t.Run("fewer", func(t *testing.T) {
		r := NewRedactor(two)
		if got := string(r.Write([]byte("secretin secre"))); got != "*** " {
			t.Errorf("got %q", got)
		}
		r.Use(New([]string{"cretin"}))
		if all, pausing := r.Held(); all != 5 || pausing != 2 {
			t.Errorf("held %d, of which a pause sets free %d; want 5, 2", all, pausing)
		}
		if got := string(r.Write([]byte("tin"))); got != "se***" {
			t.Errorf("got %q", got)
		}
	})
}

// TestWritesWithoutCopies checks that unchanged output is not copied, and that nothing is allocated.
func TestWritesWithoutCopies(t *testing.T) {
	s := New(tokens(20, 24))
	text := bytes.Repeat([]byte("the quick brown fox jumps over the lazy dog\n"), 1500)
	r := NewRedactor(s)
	if got := r.Write(text); len(got) == 0 || &got[0] != &text[0] || !bytes.Equal(got, text[:len(got)]) {
		t.Error("text without secrets was copied or changed")
	}
	withSecrets := bytes.ReplaceAll(text, []byte("fox"), []byte(s.values[3]))
	for name, p := range map[string][]byte{"text": text, "secrets": withSecrets, "a part": []byte(s.values[3][:9])} {
		if n := testing.AllocsPerRun(100, func() { r.Write(p); r.Pause() }); n != 0 {
			t.Errorf("%s: %v allocations for a chunk", name, n)
		}
	}
}
