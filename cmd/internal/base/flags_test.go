package base

import (
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	for _, test := range []struct {
		args  string
		mixed bool
		rest  []string
		err   string // "": none
	}{
		{"", false, nil, ""},
		{"-n 3 a -v", false, []string{"a", "-v"}, ""},
		{"-n 3 a -v b", true, []string{"a", "b"}, ""},
		{"a -- -v", true, []string{"a", "-v"}, ""},
		{"--n=3 - x", false, []string{"-", "x"}, ""},
		{"-v=false -word one", false, nil, ""},
		{"-wrod one", false, nil, "there is no flag -wrod; did you mean -word?"},
		{"--wrod=one", false, nil, "there is no flag --wrod; did you mean -word?"},
		{"-zzz", false, nil, "there is no flag -zzz"},
		{"---n", false, nil, "there is no flag ---n; did you mean -n?"},
		{"-=x", false, nil, "there is no flag -"},
		{"-word", false, nil, "-word needs a value: -word WHICH"},
		{"-word thre", false, nil, `-word is one, two or three, not "thre"; did you mean three?`},
		{"-n foo", false, nil, `-n "foo": must be a whole number`},
		{"-n 99999999999999999999", false, nil, `-n "99999999999999999999": must be a whole number from 0 to 9223372036854775807`},
		{"-n -99999999999999999999", false, nil, `-n "-99999999999999999999": must be a whole number from 0 to 9223372036854775807`},
		{"-f x", false, nil, `-f "x": give a number`},
		{"-d 3", false, nil, `-d "3": give a number with a unit, such as 90s or 2m`},
		{"-v=maybe", false, nil, `-v "maybe": give true or false`},
		{"-log loud", false, nil, `-log is debug, info, warn or error, not "loud"`},
		{"-own x", false, nil, `-own "x": in its own words`},
		{"-n 3 -h", false, nil, flag.ErrHelp.Error()},
		{"--help", false, nil, flag.ErrHelp.Error()},
	} {
		fs := flag.NewFlagSet("test", flag.ContinueOnError)
		var out strings.Builder
		fs.SetOutput(&out)
		word, level := "one", slog.LevelWarn
		fs.Int("n", 0, "")
		fs.Bool("v", false, "")
		fs.Float64("f", 0, "")
		fs.Duration("d", time.Second, "")
		fs.Var(Choice{&word, []string{"one", "two", "three"}}, "word", "`which`")
		fs.Var(Level{&level}, "log", "")
		fs.Func("own", "", func(string) error { return errors.New("in its own words") })
		rest, err := Parse(fs, strings.Fields(test.args), test.mixed)
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != test.err || err == nil && !reflect.DeepEqual(rest, test.rest) || out.Len() > 0 {
			t.Errorf("%q: %q, %q; want %q, %q; printed is %q", test.args, rest, got, test.rest, test.err, &out)
		}
	}
}

func TestExplain(t *testing.T) {
	for _, test := range []struct {
		err  error
		want string
	}{
		{errors.New("plain"), "plain"},
		{wrapped("/no/such/file"), "reading it: /no/such/file: no such file or directory"},
	} {
		if got := Explain(test.err); got != test.want {
			t.Errorf("%q, not %q", got, test.want)
		}
	}
	if got := Reason(wrapped("/no/such/file")); got != "no such file or directory" {
		t.Errorf("the reason is %q", got)
	}
}

func wrapped(path string) error {
	_, err := os.Open(path)
	return fmt.Errorf("reading it: %w", err)
}
