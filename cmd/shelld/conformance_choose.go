package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"shelld.dev/shelld/conformance"
	"shelld.dev/shelld/schema"
)

// chooseSessions returns the sessions with these names, in their order: a name is a session file, a directory of such
// files, or a built-in session, given by its name or a pattern of names (see [path.Match]). Without names it returns
// all built-in sessions.
func chooseSessions(names []string) (all []*conformance.Session, err error) {
	builtIn, err := conformance.Load(conformance.Sessions())
	if err != nil || len(names) == 0 {
		return builtIn, err
	}
	for _, name := range names {
		some, err := conformance.LoadFiles([]string{name})
		if errors.Is(err, fs.ErrNotExist) {
			some, err = namedSessions(builtIn, name, "session or file")
		}
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

// namedSessions returns the built-in sessions with this name, or whose names match this pattern. If there is none, the
// error names the missing thing as what does.
func namedSessions(builtIn []*conformance.Session, given, what string) (some []*conformance.Session, err error) {
	name := strings.TrimSuffix(given, ".txtar")
	var names []string
	for _, s := range builtIn {
		names = append(names, s.Name)
		switch matches, err := path.Match(name, s.Name); {
		case err != nil:
			return nil, fmt.Errorf("%q is not a valid pattern; write, for example, 'core/wait-*'", given)
		case matches:
			some = append(some, s)
		}
	}
	if len(some) > 0 {
		return some, nil
	}
	near := schema.Nearest(name, names)
	if near == "" {
		near = begunSo(name, names)
	}
	if near != "" {
		return nil, fmt.Errorf("there is no %s %q; did you mean %s?", what, given, near)
	}
	return nil, fmt.Errorf("there is no %s %q; shelld conformance list prints the sessions", what, given)
}

// begunSo returns the session whose name, without the directory, begins with name, or a pattern if several do; "": none
// does.
func begunSo(name string, names []string) string {
	var fits []string
	for _, n := range names {
		if strings.HasPrefix(path.Base(n), name) {
			fits = append(fits, n)
		}
	}
	switch len(fits) {
	case 0:
		return ""
	case 1:
		return fits[0]
	}
	return "'" + path.Dir(fits[0]) + "/" + name + "*'"
}
