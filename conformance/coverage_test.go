package conformance

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// The tests in this file compare the sessions with the schema files. A part of the protocol that no session shows
// is a failure, unless testdata/uncovered.txt lists it with a reason. An entry that a session does show is a
// failure as well.

// TestCovered checks that each method is sent, each event awaited, each error provoked, also for each method, and
// each member and word of an enumeration sent or checked.
func TestCovered(t *testing.T) {
	w := readSchemas(t)
	w.universe()
	sessions, err := Load(Sessions())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sessions {
		w.session(s)
	}
	excused := readRows(t, "testdata/uncovered.txt")
	for _, point := range slices.Sorted(maps.Keys(w.all)) {
		switch reason, ok := excused[point]; {
		case !w.seen[point] && !ok:
			t.Errorf("no session shows %s: write one, or say in testdata/uncovered.txt why there is none", point)
		case w.seen[point] && ok:
			t.Errorf("a session shows %s: take it out of testdata/uncovered.txt (%s)", point, reason)
		}
	}
	for _, point := range slices.Sorted(maps.Keys(excused)) {
		if !w.all[point] {
			t.Errorf("testdata/uncovered.txt: the schema files have no %s", point)
		}
	}
}

// TestFramings checks that there are sessions for each single framing, and that most are for both.
func TestFramings(t *testing.T) {
	sessions, err := Load(Sessions())
	if err != nil {
		t.Fatal(err)
	}
	n := map[string]int{}
	for _, s := range sessions {
		n[strings.Join(s.Framings, " ")]++
	}
	if n["header"] < 5 || n["line"] < 4 || n["header line"] < len(sessions)*9/10 {
		t.Errorf("%v", n)
	}
}

// A walk traverses the values of sessions together with the schemas of their messages. A point is one thing that
// a session can show: "request job/start", "event job/exited", "error jobRunning", "error job/remove jobRunning",
// and a member or word by its place in the schema files: "common wait.until", "errors kind=jobRunning".
type walk struct {
	defs    map[string]map[string]any // by file without .schema.json
	methods map[string]string         // method: file
	heads   map[string]schemaFile
	all     map[string]bool
	seen    map[string]bool
}

func readSchemas(t *testing.T) *walk {
	w := &walk{map[string]map[string]any{}, map[string]string{}, map[string]schemaFile{}, map[string]bool{}, map[string]bool{}}
	dir := os.DirFS("../schema/json")
	files, err := fs.Glob(dir, "*.schema.json")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		raw, err := fs.ReadFile(dir, file)
		if err != nil {
			t.Fatal(err)
		}
		var head schemaFile
		var body struct {
			Defs map[string]any `json:"$defs"`
		}
		if err := json.Unmarshal(raw, &head); err != nil {
			t.Fatal(file, err)
		}
		if err := json.Unmarshal(raw, &body); err != nil {
			t.Fatal(file, err)
		}
		name := strings.TrimSuffix(file, ".schema.json")
		w.defs[name], w.heads[name] = body.Defs, head
		if head.Head != nil && head.Head.Method != "" {
			w.methods[head.Head.Method] = name
		}
	}
	return w
}

// anyMethod lists the kinds that do not depend on the method: one session is enough for each.
var anyMethod = append([]string{"parseError"}, anywhere...)

// universe collects all points.
func (w *walk) universe() {
	for method, file := range w.methods {
		head := w.heads[file].Head
		word := "event"
		if head.From != "server" {
			word = head.Kind
		}
		w.all[word+" "+method] = true
		for _, k := range head.Errors {
			if !slices.Contains(anyMethod, k) || k == "canceled" {
				w.all["error "+method+" "+k] = true
			}
		}
		for _, def := range []string{"params", "result"} {
			if w.defs[file][def] != nil {
				w.points(place{file, def}, map[place]bool{})
			}
		}
	}
	kinds := w.defs["errors"]["kind"].(map[string]any)["enum"].([]any)
	for _, k := range kinds {
		w.all["error "+k.(string)] = true
		w.points(place{"errors", k.(string) + "Data"}, map[place]bool{})
	}
}

// A place is a schema: its file, and its path from $defs on.
type place struct{ file, path string }

func (p place) String() string { return p.file + " " + p.path }

// points adds the points of a schema.
func (w *walk) points(at place, done map[place]bool) {
	if done[at] {
		return
	}
	done[at] = true
	w.visit(at, w.defs[at.file][at.path], func(at place, node map[string]any, _ value) []value {
		if words, ok := node["enum"].([]any); ok {
			for _, word := range words {
				w.all[at.String()+"="+fmt.Sprint(word)] = true
			}
		}
		return []value{nil}
	}, nil, func(name string, at place, node any) {
		if name != "" && name != "_meta" {
			w.all[at.String()] = true
		}
	}, done)
}

// visit traverses a schema: it calls look for every node and member for every property. If there is a value,
// visit traverses it in parallel, and skips the parts of the schema that the value does not have.
func (w *walk) visit(at place, node any, look func(place, map[string]any, value) []value, v value, member func(string, place, any), done map[place]bool) {
	o, ok := node.(map[string]any)
	if !ok {
		return
	}
	look(at, o, v)
	if ref, ok := o["$ref"].(string); ok {
		to := follow(at.file, ref)
		if done == nil || !done[to] {
			if done != nil {
				done[to] = true
			}
			w.visit(to, w.defs[to.file][to.path], look, v, member, done)
		}
	}
	for _, key := range []string{"oneOf", "anyOf", "allOf"} {
		branches, _ := o[key].([]any)
		for _, b := range branches {
			w.visit(at, b, look, v, member, done)
		}
	}
	w.inside(at, o, look, v, member, done)
}

// inside visits the members of an object and the elements of an array.
func (w *walk) inside(at place, o map[string]any, look func(place, map[string]any, value) []value, v value, member func(string, place, any), done map[place]bool) {
	properties, _ := o["properties"].(map[string]any)
	whole := done != nil // the whole schema, without a value
	given, _ := v.(object)
	for name, p := range properties {
		to := place{at.file, at.path + "." + name}
		if whole {
			member(name, to, p)
			w.visit(to, p, look, nil, member, done)
		}
		for _, m := range given.members {
			if ph, _ := m.v.(placeholder); m.name == name && ph.kind != "absent" {
				member(name, to, p)
				w.visit(to, p, look, m.v, member, done)
			}
		}
	}
	for _, m := range given.members {
		if properties[m.name] == nil {
			w.visit(at, o["additionalProperties"], look, m.v, member, done)
		}
	}
	list, _ := v.(array)
	for _, e := range list.elements {
		w.visit(at, o["items"], look, e, member, done)
	}
	if whole {
		w.visit(at, o["items"], look, nil, member, done)
		w.visit(at, o["additionalProperties"], look, nil, member, done)
	}
}

func follow(file, ref string) place {
	other, def, _ := strings.Cut(ref, "#/$defs/")
	if other != "" {
		file = strings.TrimSuffix(other, ".schema.json")
	}
	return place{file, def}
}

// show marks the points of a schema that a value shows.
func (w *walk) show(at place, v value) {
	w.visit(at, w.defs[at.file][at.path], func(at place, node map[string]any, v value) []value {
		if word, ok := plainText(v); ok && node["enum"] != nil {
			w.seen[at.String()+"="+word] = true
		}
		return nil
	}, v, func(_ string, at place, _ any) { w.seen[at.String()] = true }, nil)
}

func plainText(v value) (string, bool) {
	l, _ := v.(literal)
	t, ok := l.v.(text)
	if !ok {
		return "", false
	}
	return t.plain()
}

// session marks the points that a session shows.
func (w *walk) session(s *Session) {
	asked := map[string]string{"initialize": "initialize"} // request: method
	if !s.cold {
		w.seen["request initialize"], w.seen["notification initialized"] = true, true
	}
	for _, st := range s.steps {
		switch st.verb {
		case "initialize":
			w.show(place{"initialize", "params"}, st.v)
			w.show(place{"initialize", "result"}, st.more)
		case "send", "notify":
			it := st.items[0]
			asked[st.name] = it.method
			if w.methods[it.method] != "" && !slices.Contains(st.words, "invalid") {
				w.seen[map[string]string{"send": "request ", "notify": "notification "}[st.verb]+it.method] = true
				w.show(place{w.methods[it.method], "params"}, it.params)
			}
		case "reply":
			w.show(place{w.methods[st.words[0]], "params"}, st.v)
			w.show(place{w.methods[st.words[0]], "result"}, st.more)
		case "answer":
			w.show(place{w.methods[asked[st.name]], "result"}, st.v)
		case "error":
			w.failed(asked[st.name], st.v)
		case "expect":
			for _, it := range st.items {
				w.told(it, asked)
			}
		case "count":
			if st.words[0] != "0" {
				w.told(st.items[0], asked)
			}
		}
	}
}

// told marks the points of a message that a session awaits.
func (w *walk) told(it item, asked map[string]string) {
	switch it.method {
	case "answer":
		w.show(place{w.methods[asked[it.name]], "result"}, it.params)
	case "error":
		w.failed(asked[it.name], it.params)
	default:
		w.seen["event "+it.method] = true
		w.show(place{w.methods[it.method], "params"}, it.params)
	}
}

// failed marks the points of an error that a session awaits.
func (w *walk) failed(method string, v value) {
	o, _ := v.(object)
	for _, m := range o.members {
		if k, ok := plainText(m.v); ok && m.name == "kind" {
			w.seen["error "+k], w.seen["error "+method+" "+k] = true, true
			w.show(place{"errors", k + "Data"}, v)
		}
	}
}

// readRows reads a file in which a line with a reason heads indented lines. It returns the reason for each
// indented line; # begins a comment.
func readRows(t *testing.T, name string) map[string]string {
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, reason := map[string]string{}, ""
	scan := bufio.NewScanner(f)
	for scan.Scan() {
		switch line := scan.Text(); {
		case strings.TrimSpace(line) == "" || line[0] == '#':
		case line[0] != ' ' && line[0] != '\t':
			reason = line
		case reason == "" || rows[strings.TrimSpace(line)] != "":
			t.Fatalf("%s: %q has no reason above it, or is there twice", name, line)
		default:
			rows[strings.TrimSpace(line)] = reason
		}
	}
	if scan.Err() != nil {
		t.Fatal(scan.Err())
	}
	return rows
}
