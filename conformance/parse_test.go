package conformance

import (
	"io/fs"
	"strings"
	"testing"
)

// TestParseErrors checks that each mistake in a session file is reported with its position and the expected text.
func TestParseErrors(t *testing.T) {
	pre := "prose\n\n"
	for _, test := range []struct{ text, want string }{
		{"", "t.txtar:1:1: expected a sentence that says what is shown"},
		{"prose\n", "t.txtar:2:1: expected at least one step"},
		{"level: core\n-- stall --\n", "t.txtar:1:1: expected a sentence"},
		{"prose\nlevle: core\n-- stall --\n", `t.txtar:2:1: there is no key "levle"`},
		{"prose\nlevel: high\n-- stall --\n", `t.txtar:2:1: there is no level "high"; those there are: core, trees`},
		{"prose\nlevel: core\nlevel: core\n-- stall --\n", "t.txtar:3:1: the key level is there already"},
		{"prose\nlevel: core\nmore prose\n-- stall --\n", "t.txtar:3:1: expected a key"},
		{"prose\nframing: telegram\n-- stall --\n", `t.txtar:2:1: there is no framing "telegram"`},
		{"prose\nneeds: terminal\n-- stall --\n", `t.txtar:2:1: expected a kind and a value, as in mode pty, found "terminal"`},
		{"prose\nneeds: colour red\n-- stall --\n", "the kinds are mode, method"},
		{"prose\ninitialize: yes\n-- stall --\n", "t.txtar:2:1: expected no"},
		{"prose\ninitialize: no\nneeds: mode pty\n-- stall --\n", "with initialize: no the server's capabilities are not known"},
		{"prose\ninitialize: no\n-- initialize --\n", "t.txtar:3:1: the step initialize comes first"},
		{pre + "-- client B --\n", "t.txtar:3:1: the step client is for sessions with level: sessions"},
		{pre + "-- cut --\n", "t.txtar:3:1: the step cut is for sessions with level: sessions"},
		{"prose\nlevel: sessions\n-- client --\n", "t.txtar:3:1: expected -- client NAME [uninitialized] --"},
		{"prose\nlevel: sessions\n-- client B cold --\n", "t.txtar:3:1: expected -- client NAME [uninitialized] --"},
		{"prose\nlevel: sessions\n-- client B --\n-- stall --\n-- initialize --\n", "t.txtar:5:1: the step initialize comes first, or right after client NAME"},
		{pre + "-- sned a --\n", `t.txtar:3:1: there is no verb "sned"; those there are: answer, bytes`},
		{pre + "-- stall --\n-- --\n", "t.txtar:4:1: expected a verb"},
		{pre + "-- send --\njob/list\n", "t.txtar:3:1: expected -- send NAME [invalid|unanswered] --"},
		{pre + "-- send null --\njob/list\n", "expected -- send NAME"},
		{pre + "-- send a wrong --\njob/list\n", "expected -- send NAME"},
		{pre + "-- send a --\n", "t.txtar:3:1: expected one method with its params, found 0"},
		{pre + "-- send a --\njob/list {}\njob/list {}\n", "t.txtar:4:1: expected one method with its params, found 2"},
		{pre + "-- send a --\njob/list {live: yes}\n", `t.txtar:4:17: expected a value (JSON, $variable`},
		{pre + "-- send a --\njob/list {live true}\n", "t.txtar:4:16: expected : after the member's name"},
		{pre + "-- send a --\njob/list {live: true\n group: 1}\n", `t.txtar:5:2: expected , or } after a member, found "group: 1}"`},
		{pre + "-- send a --\njob/list {a: 1, a: 2}\n", `t.txtar:4:17: the member "a" is there already`},
		{pre + "-- send a --\njob/list {a: [1 2]}\n", "t.txtar:4:17: expected , or ] after an element"},
		{pre + "-- send a --\njob/list {a: \"x}\n", "t.txtar:4:14: expected a closing quote on this line"},
		{pre + "-- send a --\njob/list {a: \"\\q\"}\n", "t.txtar:4:16: this is no JSON string"},
		{pre + "-- send a --\njob/list {a: 01}\n", "t.txtar:4:14: expected a number"},
		{pre + "-- send a --\njob/list {a: $}\n", "t.txtar:4:15: expected a variable's name after $"},
		{pre + "-- send a --\njob/list {a: \"${\"}\n", "t.txtar:4:14: expected a variable's name and } after ${"},
		{pre + "-- send a --\njob/list {a: $b + x}\n", "t.txtar:4:19: expected a number"},
		{pre + "-- send a --\njob/list {a: $b + 1.5}\n", "only an integer can be added"},
		{pre + "-- send a --\njob/list {a: @repeat x}\n", "expected a count and a string after @repeat"},
		{pre + "-- send a --\njob/list {a: @repeat 100000000 \"xx\"}\n", "@repeat makes at most"},
		{pre + "-- send a --\njob/list {a: $b:integer}\n", "there is no kind @integer; those there are: @absent, @any"},
		{pre + "-- send a --\njob/list {a: $b:absent}\n", "a variable cannot be bound to what is absent"},
		{pre + "-- send a --\njob/list\n-- send a --\njob/list\n", `t.txtar:5:1: a request "a" is sent already`},
		{pre + "-- send a --\njob/list {live: [true\n\n-- answer a --\n", "t.txtar:4:22: expected , or ] after an element, found the end of the section; the bracket that is opened at 4:17 is not closed"},
		{pre + "-- send a --\njob/list {live:\n\n-- answer a --\n", "t.txtar:4:16: expected a value, found the end of the section; the bracket that is opened at 4:10 is not closed"},
		{pre + "-- send a --\njob/list\n-- answer a --\n{\n  jobs: []\n\n", "t.txtar:7:11: expected , or } after a member, found the end of the section; the bracket that is opened at 6:1 is not closed"},
		{"prose\nsend a --\njob/list\n", "t.txtar:2:1: this line is no header, but text; expected -- send a --"},
		{pre + "-- send a --\njob/list\nanswer a within  5s --\n", "t.txtar:5:1: this line is no header, but text; expected -- answer a within 5s --"},
		{pre + "-- send a --\njob/list\n-- answer a\n", "t.txtar:5:1: this line is no header"},
		{pre + "-- send a --\njob/list\n--answer a--\n", "t.txtar:5:1: this line is no header"},
		{pre + "-- send a --\njob/list\n -- answer a --\n", "t.txtar:5:1: this line is no header"},
		{pre + "-- send a --\njob/list\n-- answer a -- \n", "t.txtar:5:1: this line is no header"},
		{pre + "-- answer a --\n", `t.txtar:3:1: no request "a" was sent before; expected -- send a --`},
		{pre + "-- send a --\njob/list\n-- answer a --\n{a: @integer}\n", "t.txtar:6:5: there is no @integer; there are @exactly"},
		{pre + "-- send a --\njob/list\n-- answer a --\n@exactly 1\n", "t.txtar:6:10: expected an object after @exactly"},
		{pre + "-- send a --\njob/list\n-- answer a --\n@unordered {}\n", "expected an array after @unordered"},
		{pre + "-- send a --\njob/list\n-- answer a --\n~x\n", `t.txtar:6:2: expected a string after ~, found "x"`},
		{pre + "-- send a --\njob/list\n-- answer a --\n~`x\n", "expected a closing backquote"},
		{pre + "-- send a --\njob/list\n-- answer a --\n{} {}\n", "t.txtar:6:4: expected the end of the section after the value"},
		{pre + "-- send a --\njob/list\n-- answer a within soon --\n", `expected a time after within, as in 5s, found "soon"`},
		{pre + "-- expect --\n", "t.txtar:3:1: expected at least one message"},
		{pre + "-- expect --\n{}\n", "t.txtar:4:1: expected a method, as in job/output"},
		{pre + "-- expect --\nanswer\n", "t.txtar:4:7: expected a request's name after answer"},
		{pre + "-- expect --\nanswer a\n", `t.txtar:4:1: no request "a" was sent before`},
		{pre + "-- expect soon --\njob/output\n", "expected -- expect [next|unordered] [of LABEL] --"},
		{pre + "-- never until --\njob/output\n", "expected -- never [until NAME] --"},
		{pre + "-- count few --\njob/output\n", "expected -- count N --"},
		{pre + "-- output --\n\"x\"\n", "expected -- output HANDLE"},
		{pre + "-- output $h nowhere --\n\"x\"\n", "expected -- output HANDLE"},
		{pre + "-- output $h pty --\n", "t.txtar:3:1: expected a value, found the end of the section"},
		{pre + "-- output $h pty --\n\"a\" 1\n", "t.txtar:4:5: only strings can follow each other"},
		{pre + "-- bytes $h pty --\n", "expected at least one line such as 0:"},
		{pre + "-- bytes $h pty --\n0 \"a\"\n", "t.txtar:4:3: expected : after the offset"},
		{pre + "-- raw --\na\\q\n", "t.txtar:4:2: expected a character, or one of"},
		{pre + "-- raw a --\nx\n", "expected the name and the id of a request, as in twin=7"},
		{pre + "-- reply client/confirm --\n{}\n", "expected a pattern for the params, a line =>"},
		{pre + "-- reply client/confirm --\n=>\n", "t.txtar:4:1: expected the result to answer with"},
		{pre + "-- let x --\n", "t.txtar:3:1: expected a value"},
		{pre + "-- close stdout --\n", "expected -- close stdin --"},
		{pre + "-- stall --\nx\n", "t.txtar:4:1: expected nothing here"},
		{pre + "-- exit zero --\n", "expected -- exit STATUS, or exit any --"},
		{pre + "-- signal USR9 --\n", "expected -- signal NAME --"},
		{pre + "-- gone --\n", "expected a process id"},
		{pre + "-- notify --\nexit\nid: 1\n", "a notification has no id"},
		{pre + "-- send a --\njob/list " + strings.Repeat("[", 2000) + "\n", "nested deeper than"},
	} {
		_, err := Parse("t.txtar", []byte(test.text))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%.200q:\n got %v\nwant %s", test.text, err, test.want)
		}
	}
}

// TestDashes checks that lines with dashes that are not meant as headers are text.
func TestDashes(t *testing.T) {
	for _, text := range []string{
		"What a program prints -- and when --\nis shown.\n-- stall --\n",
		"prose\n-- frame --\n{\"a\": \"--\"}\n-- stall --\n",
		"prose\n-- raw --\n--x\\n\nanswer -\n--\n-- stall --\n",
	} {
		if _, err := Parse("t.txtar", []byte(text)); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestSessions checks that every session of the suite can be parsed, names the sentence that it tests, and is in
// the directory of its level.
func TestSessions(t *testing.T) {
	sessions, err := Load(Sessions())
	if err != nil || len(sessions) < 50 {
		t.Fatal(len(sessions), err)
	}
	for _, s := range sessions {
		if s.Bad() != nil {
			t.Error(s.Bad())
		} else if s.Protocol == "" {
			t.Errorf("%s: which sentence of the protocol does it stand on?", s.Name)
		} else if level, _, _ := strings.Cut(s.Name, "/"); level != s.Level {
			t.Errorf("%s is of the level %s", s.Name, s.Level)
		}
	}
}

// FuzzParse checks that the parser reports a position in every error.
func FuzzParse(f *testing.F) {
	err := fs.WalkDir(Sessions(), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			data, err := fs.ReadFile(Sessions(), name)
			f.Add(data)
			return err
		}
		return err
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte("p\n-- bytes $h pty --\n$a+1: base64 \"\"\n-- output $h from 3 --\n~`x` \n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, err := Parse("f.txtar", data); err != nil && !strings.HasPrefix(err.Error(), "f.txtar:") {
			t.Errorf("%q: %v", data, err)
		}
	})
}
