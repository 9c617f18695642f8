package record

import (
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"shelld.dev/shelld/conformance/internal/wire"
)

// A phrase is text of a session, in pieces.
type phrase []word

// A word is a piece of a phrase: literal text; the value of a variable, with text as the original; or text that
// differs from run to run and is expected to match a pattern.
type word struct {
	text     string
	variable string
	pattern  string
	varies   bool // in length
}

func (p phrase) String() string {
	var b strings.Builder
	for _, w := range p {
		b.WriteString(w.text)
	}
	return b.String()
}

// literal reports whether a phrase is the same in every run.
func (p phrase) literal() bool {
	return !slices.ContainsFunc(p, func(w word) bool { return w.pattern != "" })
}

// A setting holds values that are specific to one machine and one time, and change in a replay.
type setting struct {
	began, ended time.Time
	cwd          string
	paths        []string // directories, and ids that differ in each run as directories do
	hosts        []string
	numbers      map[string]bool // process ids, and ports that the system chose
}

// surroundings returns the setting of this process, which is also the server's.
func surroundings(began time.Time) setting {
	s := setting{began: began, ended: time.Now(), numbers: map[string]bool{}}
	if dir, err := os.Getwd(); err == nil {
		s.cwd = dir
		s.addPath(dir)
	}
	if dir, err := os.UserHomeDir(); err == nil {
		s.addPath(dir)
	}
	if host, err := os.Hostname(); err == nil && len(host) > 2 && host != "localhost" {
		short, _, _ := strings.Cut(host, ".")
		s.hosts = append(s.hosts, host, short)
	}
	return s
}

// addPath adds a path if it is long enough not to match by chance.
func (s *setting) addPath(p string) {
	if len(p) >= 4 && !slices.Contains(s.paths, p) {
		s.paths = append(s.paths, p)
	}
}

// chosenPort matches ports of the range from which systems choose one.
var chosenPort = regexp.MustCompile(`(?i)(?:port |[\w\]]:)(3[3-9]\d{3}|[45]\d{4}|6[0-5]\d{3})\b`)

// learn collects process ids, ports and paths from a message of the server.
func (s *setting) learn(v any) {
	switch v := v.(type) {
	case string:
		for _, m := range chosenPort.FindAllStringSubmatch(v, -1) {
			s.numbers[m[1]] = true
		}
	case []any:
		for _, e := range v {
			s.learn(e)
		}
	case map[string]any:
		for name, e := range v {
			switch text, isText := e.(string); {
			case name == "pid":
				s.numbers[wire.Show(e)] = true
			case isText && slices.Contains([]string{"sessionId", "stateDirectory", "outputDirectory"}, name):
				s.addPath(text)
			default:
				s.learn(e)
			}
		}
	}
}

// ours reports whether a path is below one that is specific to this machine, or is a temporary one.
func (s *setting) ours(file string) bool {
	return slices.ContainsFunc(append(slices.Clone(s.paths), strings.TrimSuffix(os.TempDir(), "/")), func(dir string) bool {
		return dir != "" && (file == dir || strings.HasPrefix(file, dir+"/"))
	})
}

// A span is a range of text that differs from run to run.
type span struct {
	from, to int
	pattern  string
	varies   bool
}

const (
	days   = `(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)`
	months = `(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)`
)

// habits are the forms of text that differs from run to run. counts, if set, reports whether a match really does.
var habits = []struct {
	re      *regexp.Regexp
	pattern string
	varies  bool
	counts  func(*setting, string) bool
}{
	{regexp.MustCompile(`\b(?:` + days + ` )?` + months + ` [ \d]\d \d\d:\d\d:\d\d(?: [A-Z]{2,5})?(?: \d{4})?\b`), `[\w: ]+`, true, (*setting).clock},
	{regexp.MustCompile(`\b(?:` + days + `, )?\d\d? ` + months + ` \d{4} \d\d:\d\d:\d\d(?: [-+]\d{4}\b| [A-Z]{2,5}\b)?`), `[-\w:, +]+`, true, (*setting).clock},
	{regexp.MustCompile(`\b\d\d/` + months + `/\d{4}[ :]\d\d:\d\d:\d\d\b`), `[\w/]+[ :]\d\d:\d\d:\d\d`, false, (*setting).clock},
	{regexp.MustCompile(`\b` + months + ` [ \d]\d \d\d:\d\d\b`), `\w+ [ \d]\d \d\d:\d\d`, false, (*setting).minute},
	{regexp.MustCompile(`\b\d+\b`), `\d+`, true, func(s *setting, t string) bool { return len(t) > 2 && s.numbers[t] }},
	{regexp.MustCompile(`\b\d{4}-\d\d-\d\d\b`), `\d{4}-\d\d-\d\d`, false, (*setting).today},
	{regexp.MustCompile(`\b\d\d:\d\d:\d\d\b`), `\d\d:\d\d:\d\d`, false, (*setting).clock},
	{regexp.MustCompile(`\b\d{10}\b`), `\d{10}`, false, func(s *setting, t string) bool { return s.epoch(t, 1) }},
	{regexp.MustCompile(`\b\d{13}\b`), `\d{13}`, false, func(s *setting, t string) bool { return s.epoch(t, 1000) }},
	{regexp.MustCompile(`\b\d+\.\d+ ?(?:s|ms|seconds)\b`), `[\d.]+ ?\w+`, true, nil},
	{regexp.MustCompile(`\b0x[0-9a-f]{8,16}\b`), `0x[0-9a-f]+`, true, nil},
	{regexp.MustCompile(`/tmp/tmp[.\w]{6,}`), `\S+`, true, nil},
}

// shellJob matches the line in which shells report a background job.
var shellJob = regexp.MustCompile(`(?m)^\[\d+\] (\d+)\r*$`)

// spans finds the ranges that differ from run to run, in order and without overlap.
func (s *setting) spans(text string) (all []span) {
	for _, p := range append(slices.Clone(s.paths), s.hosts...) {
		for at := 0; ; {
			i := strings.Index(text[at:], p)
			if i < 0 {
				break
			}
			at += i + len(p)
			all = append(all, span{at - len(p), at, `\S+`, true})
		}
	}
	for _, m := range shellJob.FindAllStringSubmatchIndex(text, -1) {
		all = append(all, span{m[2], m[3], `\d+`, true})
	}
	for _, h := range habits {
		for _, m := range h.re.FindAllStringIndex(text, -1) {
			if h.counts == nil || h.counts(s, text[m[0]:m[1]]) {
				all = append(all, span{m[0], m[1], h.pattern, h.varies})
			}
		}
	}
	slices.SortFunc(all, func(a, b span) int {
		if a.from != b.from {
			return a.from - b.from
		}
		return b.to - a.to // the longer one first
	})
	end := 0
	return slices.DeleteFunc(all, func(x span) bool {
		if x.from < end {
			return true
		}
		end = x.to
		return false
	})
}

// within reports whether a time is within the recording, with a margin of 5 s for clock differences.
func (s *setting) within(t time.Time) bool {
	const margin = 5 * time.Second
	return t.After(s.began.Add(-margin)) && t.Before(s.ended.Add(margin))
}

func (s *setting) today(text string) bool {
	for _, t := range []time.Time{s.began, s.ended} {
		if text == t.Local().Format(time.DateOnly) || text == t.UTC().Format(time.DateOnly) {
			return true
		}
	}
	return false
}

// minute reports whether a text such as "Nov 20 19:18" is within the recording.
func (s *setting) minute(text string) bool {
	for _, t := range []time.Time{s.began.Local(), s.began.UTC()} {
		at, err := time.ParseInLocation("2006 Jan _2 15:04", t.Format("2006 ")+text, t.Location())
		if err == nil && (s.within(at) || s.within(at.Add(time.Minute))) {
			return true
		}
	}
	return false
}

var clockIn = regexp.MustCompile(`\d\d:\d\d:\d\d`)

// clock reports whether the time of day in a text is within the recording.
func (s *setting) clock(text string) bool {
	text = clockIn.FindString(text)
	for _, t := range []time.Time{s.began.Local(), s.began.UTC()} {
		at, err := time.ParseInLocation(time.DateTime, t.Format(time.DateOnly)+" "+text, t.Location())
		if err == nil && (s.within(at) || s.within(at.AddDate(0, 0, 1))) {
			return true
		}
	}
	return false
}

// epoch reports whether a number is a Unix time within the recording; perSecond is its unit.
func (s *setting) epoch(text string, perSecond int64) bool {
	n, err := strconv.ParseInt(text, 10, 64)
	return err == nil && s.within(time.Unix(n/perSecond, 0))
}

// generalise marks the parts of a phrase that differ from run to run.
func (s *setting) generalise(p phrase) (out phrase) {
	for _, w := range p {
		if w.variable != "" {
			out = append(out, w)
			continue
		}
		at := 0
		for _, x := range s.spans(w.text) {
			if x.from > at {
				out = append(out, word{text: w.text[at:x.from]})
			}
			out = append(out, word{text: w.text[x.from:x.to], pattern: x.pattern, varies: x.varies})
			at = x.to
		}
		if at < len(w.text) {
			out = append(out, word{text: w.text[at:]})
		}
	}
	return out
}

// lines splits a phrase after its line feeds.
func (p phrase) lines() (all []phrase) {
	var line phrase
	for _, w := range p {
		for w.variable == "" && w.pattern == "" {
			i := strings.IndexByte(w.text, '\n')
			if i < 0 || i == len(w.text)-1 {
				break
			}
			all = append(all, append(line, word{text: w.text[:i+1]}))
			line, w.text = nil, w.text[i+1:]
		}
		line = append(line, w)
		if w.variable == "" && w.pattern == "" && strings.HasSuffix(w.text, "\n") {
			all, line = append(all, line), nil
		}
	}
	if len(line) > 0 {
		all = append(all, line)
	}
	return all
}
