package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"shelld.dev/shelld/schema"
)

// pages returns the Markdown pages of the project, relative to root.
func pages(t *testing.T) (all []string) {
	t.Helper()
	for _, pattern := range []string{"*.md", "*/*.md", "*/*/*.md", ".github/*.md", ".github/*/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			if !strings.Contains(f, "node_modules") {
				all = append(all, strings.TrimPrefix(f, root+"/"))
			}
		}
	}
	slices.Sort(all)
	if all = slices.Compact(all); len(all) < 20 {
		t.Fatalf("only %d pages were found: %q", len(all), all)
	}
	return all
}

func readPage(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

var (
	fence   = regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$")
	code    = regexp.MustCompile("`[^`\n]*`")
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ +(.*)$`)
	noSlug  = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// TestPageLinks checks that every relative link leads to a file, and every anchor to a heading.
func TestPageLinks(t *testing.T) {
	links := 0
	for _, page := range pages(t) {
		text := code.ReplaceAllString(fence.ReplaceAllString(readPage(t, page), ""), "")
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			to, err := url.Parse(m[1])
			if err != nil {
				t.Errorf("%s: %s: %v", page, m[1], err)
				continue
			}
			if to.Scheme != "" {
				continue
			}
			links++
			target := page
			if to.Path != "" {
				target = filepath.Join(filepath.Dir(page), to.Path)
			}
			info, err := os.Stat(filepath.Join(root, target))
			switch {
			case err != nil:
				t.Errorf("%s: the link %s leads to no file", page, m[1])
			case to.Fragment == "":
			case info.IsDir() || !slices.Contains(anchors(readPage(t, target)), to.Fragment):
				t.Errorf("%s: %s has no heading for the link %s", page, target, m[1])
			}
		}
	}
	if links < 100 {
		t.Errorf("only %d relative links were found", links)
	}
}

// anchors returns the anchors of a page, as GitHub makes them of its headings.
func anchors(text string) (all []string) {
	seen := map[string]int{}
	for _, m := range heading.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
		title := link.ReplaceAllString(strings.ReplaceAll(m[1], "[", ""), "")
		slug := strings.ReplaceAll(noSlug.ReplaceAllString(strings.ToLower(title), ""), " ", "-")
		if n := seen[slug]; n > 0 {
			all = append(all, fmt.Sprintf("%s-%d", slug, n))
		} else {
			all = append(all, slug)
		}
		seen[slug]++
	}
	return all
}

// A pageLine is a message on a page.
type pageLine struct {
	page   string
	sent   bool // by the client, if marked is set
	marked bool // the line begins with an arrow
	text   string
}

func (l pageLine) String() string { return fmt.Sprintf("%s: %.120s", l.page, l.text) }

// pageBlocks returns the messages in the code blocks of a page, by block.
func pageBlocks(t *testing.T, page string) (blocks [][]pageLine) {
	t.Helper()
	for _, m := range fence.FindAllStringSubmatch(readPage(t, page), -1) {
		var block []pageLine
		for line := range strings.Lines(m[2]) {
			line = strings.TrimSpace(line)
			l := pageLine{page: page, text: line}
			for _, arrow := range []string{"→ ", "← "} {
				if rest, ok := strings.CutPrefix(line, arrow); ok {
					l.marked, l.sent, l.text = true, arrow == "→ ", rest
				}
			}
			if strings.HasPrefix(l.text, `{"jsonrpc"`) {
				block = append(block, l)
			}
		}
		if len(block) > 0 {
			blocks = append(blocks, block)
		}
	}
	return blocks
}

// more is the name of the member, or the text of the element, that stands for those that an example leaves out.
const more = "…"

// parseExample parses JSON in which … stands for left out members of an object or elements of an array.
func parseExample(text string) (value any, short bool, err error) {
	var out []byte
	var open []byte
	inText := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case inText && c == '\\' && i+1 < len(text):
			out = append(out, c, text[i+1])
			i++
			continue
		case c == '"':
			inText = !inText
		case inText:
		case c == '{' || c == '[':
			open = append(open, c)
		case (c == '}' || c == ']') && len(open) > 0:
			open = open[:len(open)-1]
		case strings.HasPrefix(text[i:], more):
			short = true
			out = append(out, `"`+more+`"`...)
			if len(open) > 0 && open[len(open)-1] == '{' {
				out = append(out, ":0"...)
			}
			i += len(more) - 1
			continue
		}
		out = append(out, text[i])
	}
	dec := json.NewDecoder(bytes.NewReader(out))
	dec.UseNumber()
	err = dec.Decode(&value)
	return value, short || strings.Contains(text, more), err
}

// TestPageMessages checks every whole message on a page against the schemas, and that the others are JSON.
func TestPageMessages(t *testing.T) {
	checked := 0
	for _, page := range pages(t) {
		for _, block := range pageBlocks(t, page) {
			methods := map[string]string{}
			for _, l := range block {
				value, short, err := parseExample(l.text)
				if err != nil {
					t.Errorf("%v: %v", l, err)
					continue
				}
				message, ok := value.(map[string]any)
				if !ok {
					t.Errorf("%v: no object", l)
					continue
				}
				id := fmt.Sprint(message["id"])
				method, isRequest := message["method"].(string)
				if isRequest {
					methods[id] = method
				}
				if short {
					continue
				}
				checked++
				if err := validPageMessage(l, methods[id]); err != nil {
					t.Errorf("%v: %v", l, err)
				}
			}
		}
	}
	if checked < 80 {
		t.Errorf("only %d whole messages were found", checked)
	}
}

// validPageMessage validates a message as sent by the client or by the server, whichever it can be. method is that
// of the request that a response answers.
func validPageMessage(l pageLine, method string) error {
	var errs []error
	for _, side := range []string{"client", "server"} {
		if l.marked && l.sent != (side == "client") {
			continue
		}
		err := schema.ValidateMessage(side, []byte(l.text), func(string) string { return method })
		if err == nil {
			return nil
		}
		errs = append(errs, err)
	}
	return fmt.Errorf("%v", errs)
}

// changing are the members whose values differ from run to run: an example shows one of them.
var changing = []string{"pid", "seq", "durationMs", "idleMs", "since", "startedAt", "endedAt", "sessionId", "port", "version", "waitId"}

// differs returns the first difference of a message from an example of it, or "".
func differs(path string, want, got any) string {
	if w, ok := want.(string); ok && strings.Contains(w, more) {
		g, ok := got.(string)
		parts := strings.Split(w, more)
		for i := range parts {
			parts[i] = regexp.QuoteMeta(parts[i])
		}
		if !ok || !regexp.MustCompile(`(?s)^`+strings.Join(parts, ".*")+`$`).MatchString(g) {
			return fmt.Sprintf("%s is %q, not %q", path, got, w)
		}
		return ""
	}
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			return fmt.Sprintf("%s is %v, and no object", path, got)
		}
		_, open := w[more]
		for name, value := range w {
			if name == more {
				continue
			}
			v, ok := g[name]
			if !ok {
				return fmt.Sprintf("%s/%s is missing", path, name)
			}
			if slices.Contains(changing, name) && reflect.TypeOf(v) == reflect.TypeOf(value) {
				continue
			}
			if d := differs(path+"/"+name, value, v); d != "" {
				return d
			}
		}
		for name := range g {
			if _, ok := w[name]; !ok && !open {
				return fmt.Sprintf("%s/%s is left out without …", path, name)
			}
		}
		return ""
	case []any:
		g, ok := got.([]any)
		if !ok {
			return fmt.Sprintf("%s is %v, and no array", path, got)
		}
		open := len(w) > 0 && w[len(w)-1] == more
		if open {
			w = w[:len(w)-1]
		}
		if len(g) < len(w) || len(g) > len(w) && !open {
			return fmt.Sprintf("%s has %d elements, not %d", path, len(g), len(w))
		}
		for i := range w {
			if d := differs(fmt.Sprintf("%s/%d", path, i), w[i], g[i]); d != "" {
				return d
			}
		}
		return ""
	}
	if !reflect.DeepEqual(want, got) {
		return fmt.Sprintf("%s is %v, not %v", path, got, want)
	}
	return ""
}

// sessionPages are the pages whose blocks with arrows are sessions that hold on any machine.
var sessionPages = []string{"README.md", "docs/quickstart.md", "docs/recipes.md"}

// TestPageSessions sends what the pages say that a client sends, and checks what they say that the server answers.
func TestPageSessions(t *testing.T) {
	needJobs(t)
	for _, program := range []string{"bash", "python3", "vim", "setsid"} {
		needShell(t, program)
	}
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	for _, page := range sessionPages {
		blocks := pageBlocks(t, page)
		if len(blocks) == 0 {
			t.Errorf("%s has no session", page)
		}
		for i, block := range blocks {
			t.Run(fmt.Sprintf("%s/%d", filepath.Base(page), i+1), func(t *testing.T) {
				t.Parallel()
				playPage(t, block)
			})
		}
	}
}

// playPage plays one session against a server of its own.
func playPage(t *testing.T, block []pageLine) {
	s := startPageServer(t)
	if !strings.Contains(block[0].text, `"initialize"`) {
		s.send(t, `{"jsonrpc":"2.0","id":1,"method":"initialize"}`)
		s.answer(t, "1")
	}
	for _, l := range block {
		if l.sent {
			s.send(t, l.text)
			continue
		}
		want, _, err := parseExample(l.text)
		if err != nil {
			t.Fatalf("%v: %v", l, err)
		}
		message := want.(map[string]any)
		if id, ok := message["id"]; ok && message["method"] == nil {
			if d := differs("", want, s.answer(t, fmt.Sprint(id))); d != "" {
				t.Errorf("%v\n%s", l, d)
			}
			continue
		}
		s.notice(t, l, want)
	}
}

// A pageServer is a server whose messages are kept until a page has shown them.
type pageServer struct {
	dec  *json.Decoder
	in   io.Writer
	kept []any // notifications that no line of the page has shown
}

func startPageServer(t *testing.T) *pageServer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), watchdog)
	t.Cleanup(cancel)
	var log bytes.Buffer
	cmd, err := testServer(&log)(ctx)
	if err != nil {
		t.Fatal(err)
	}
	cmd.Dir = t.TempDir()
	in, out := startPiped(t, cmd)
	s := &pageServer{dec: json.NewDecoder(out), in: in}
	s.dec.UseNumber()
	t.Cleanup(func() {
		_ = in.Close() // This ends the server, which may have ended.
		for s.next() == nil {
		}
		_ = cmd.Wait() // Its status depends on whether the page has a shutdown.
		if log.Len() > 0 {
			t.Errorf("the server logged %s", log.String())
		}
	})
	return s
}

func (s *pageServer) send(t *testing.T, message string) {
	t.Helper()
	if _, err := s.in.Write([]byte(message + "\n")); err != nil {
		t.Fatal(err)
	}
}

// next keeps the next message.
func (s *pageServer) next() error {
	var v any
	if err := s.dec.Decode(&v); err != nil {
		return err
	}
	s.kept = append(s.kept, v)
	return nil
}

// take returns the first kept or later message for which is returns true.
func (s *pageServer) take(is func(any) bool) (any, error) {
	for i := 0; ; i++ {
		if i == len(s.kept) {
			if err := s.next(); err != nil {
				return nil, err
			}
		}
		if v := s.kept[i]; is(v) {
			s.kept = slices.Delete(s.kept, i, i+1)
			return v, nil
		}
	}
}

func (s *pageServer) answer(t *testing.T, id string) any {
	t.Helper()
	v, err := s.take(func(v any) bool {
		m, ok := v.(map[string]any)
		return ok && m["method"] == nil && fmt.Sprint(m["id"]) == id
	})
	if err != nil {
		t.Fatalf("request %s was not answered: %v", id, err)
	}
	return v
}

// notice waits for a notification like that of the page.
func (s *pageServer) notice(t *testing.T, l pageLine, want any) {
	t.Helper()
	near := ""
	_, err := s.take(func(got any) bool {
		d := differs("", want, got)
		if d != "" && !strings.HasPrefix(d, "/method") {
			near = d
		}
		return d == ""
	})
	if err != nil {
		t.Fatalf("%v\ndid not come: %v; of one like it %s", l, err, near)
	}
}

// TestPageScripts runs the Python on the pages.
func TestPageScripts(t *testing.T) {
	needJobs(t)
	needShell(t, "python3")
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	scripts := 0
	for _, page := range sessionPages {
		for _, m := range fence.FindAllStringSubmatch(readPage(t, page), -1) {
			if m[1] != "python" {
				continue
			}
			scripts++
			ctx, cancel := context.WithTimeout(t.Context(), watchdog)
			cmd := exec.CommandContext(ctx, "python3", "-c", m[2])
			out, err := cmd.CombinedOutput()
			cancel()
			if err != nil || !bytes.Contains(out, []byte("[exit timeout]")) {
				t.Errorf("%s: %v\n%s", page, err, out)
			}
		}
	}
	if scripts == 0 {
		t.Error("the pages have no script")
	}
}
