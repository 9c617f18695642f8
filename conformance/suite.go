package conformance

import (
	"bufio"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

//go:embed sessions
var embedded embed.FS

// Sessions returns the session files of the suite itself, as LEVEL/NAME.txtar.
func Sessions() fs.FS {
	sub, err := fs.Sub(embedded, "sessions")
	if err != nil {
		panic(err) // This never happens: "sessions" is a valid path, and nothing else can fail.
	}
	return sub
}

const extension = ".txtar"

// Levels returns the levels of the protocol, in its order.
func Levels() []string { return slices.Clone(levels) }

// Load reads every session file in a file system, in the order of their names. A file that is no valid session is
// included; its verdict will be an error.
func Load(dir fs.FS) ([]*Session, error) {
	return load(dir, "")
}

// LoadFiles reads session files, and directories of them.
func LoadFiles(names []string) (all []*Session, err error) {
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil {
			return nil, err
		}
		if info.IsDir() {
			some, err := load(os.DirFS(name), name)
			if err != nil {
				return nil, err
			}
			all = append(all, some...)
			continue
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		all = append(all, read(filepath.ToSlash(name), data))
	}
	return all, nil
}

func load(dir fs.FS, prefix string) (all []*Session, err error) {
	err = fs.WalkDir(dir, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(name) != extension {
			return err
		}
		data, err := fs.ReadFile(dir, name)
		all = append(all, read(path.Join(filepath.ToSlash(prefix), name), data))
		return err
	})
	if err == nil && len(all) == 0 {
		return nil, fmt.Errorf("there is no session (*%s) in %s", extension, prefix)
	}
	return all, err
}

// read parses a file; its error is reported when the session is run.
func read(name string, data []byte) *Session {
	s, err := Parse(name, data)
	if err != nil {
		s = &Session{Name: strings.TrimSuffix(name, extension), Framings: []string{"header", "line"}, file: name, bad: err}
	}
	return s
}

// Bad returns the error in the session's file, or nil.
func (s *Session) Bad() error { return s.bad }

// Count returns how many results RunAll will report.
func Count(sessions []*Session, framings []string) (n int) {
	for _, s := range sessions {
		for _, f := range framings {
			if slices.Contains(s.Framings, f) {
				n++
			}
		}
	}
	return n
}

// RunAll plays every session in each framing that both the session and the list have, up to parallel at a time,
// and passes the results to tell one by one, in the order of the sessions.
func RunAll(sessions []*Session, framings []string, parallel int, cfg Config, tell func(Result)) {
	type run struct {
		s       *Session
		framing string
		result  chan Result
	}
	var runs []run
	for _, s := range sessions {
		for _, f := range framings {
			if slices.Contains(s.Framings, f) {
				runs = append(runs, run{s, f, make(chan Result, 1)})
			}
		}
	}
	todo := make(chan run, len(runs))
	for _, r := range runs {
		todo <- r
	}
	close(todo)
	var workers sync.WaitGroup
	for range min(max(parallel, 1), len(runs)) {
		workers.Go(func() {
			for r := range todo {
				r.result <- Run(r.s, r.framing, cfg)
			}
		})
	}
	for _, r := range runs {
		tell(<-r.result)
	}
	workers.Wait()
}

// A Baseline maps the sessions that are known to fail to the reason.
type Baseline map[string]string

// ParseBaseline reads lines of the form NAME: REASON, or NAME FRAMING: REASON. Blank
// lines and those that begin with # are skipped.
func ParseBaseline(file string, text string) (Baseline, error) {
	b := Baseline{}
	lines := bufio.NewScanner(strings.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		name, reason, ok := strings.Cut(line, ":")
		fields, reason := strings.Fields(name), strings.TrimSpace(reason)
		wrong := func(format string, args ...any) error {
			return &syntaxError{position{file, n, 1}, fmt.Sprintf(format, args...)}
		}
		key := strings.Join(fields, " ")
		switch {
		case !ok || reason == "" || len(fields) == 0:
			return nil, wrong("expected a session and why it fails, as in core/resize: no terminals yet")
		case len(fields) > 2 || len(fields) == 2 && fields[1] != "header" && fields[1] != "line":
			return nil, wrong("expected a session's name and no more than a framing (header, line), found %q", key)
		case b[key] != "":
			return nil, wrong("%s is there already", key)
		}
		b[key] = reason
	}
	return b, lines.Err()
}

// Unknown lists the entries for which there is no session.
func (b Baseline) Unknown(sessions []*Session) (names []string) {
	for key := range b {
		name, _, _ := strings.Cut(key, " ")
		if !slices.ContainsFunc(sessions, func(s *Session) bool { return s.Name == name }) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Judge turns a known failure into Known, and a pass of a session that is known to fail into a failure: then the
// baseline is out of date.
func (b Baseline) Judge(r Result) Result {
	reason := b[r.Session+" "+r.Framing]
	if reason == "" {
		reason = b[r.Session]
	}
	switch {
	case reason == "":
	case r.Verdict == Failed:
		r.Verdict, r.Reason = Known, reason+"\n"+r.Reason
	case r.Verdict == Passed:
		r.Verdict, r.Reason = Failed, "it passes, and the baseline says that it fails ("+reason+"); take it off the baseline"
	}
	return r
}
