package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A rule lists the packages that a package may import besides the standard library, and the standard packages that it
// must not import.
type rule struct {
	pkg    string            // under the module, or a pattern (see path.Match)
	ours   []string          // our packages, as patterns
	theirs []string          // modules, or packages with all below them
	not    map[string]string // of the standard library -> why not
	why    string            // the damage done by an import that breaks the rule
}

// rules lists the allowed imports of each package. The first row that matches a package counts. Tests are exempt: they
// may use both sides of the parts that they connect.
var rules = []rule{
	{
		pkg:    "cmd/shelld",
		ours:   []string{"cmd/internal/base", "client", "client/inprocess", "rpc", "jobs", "jobs/stored", "session", "internal/front", "schema", "conformance", "conformance/record"},
		theirs: []string{"golang.org/x/term", "golang.org/x/sys"},
		why:    "the command only wires things up: terminals, patterns and messages are handled where they are understood",
	},
	{
		pkg:    "cmd/shelld-mcp",
		ours:   []string{"cmd/internal/base", "client", "client/inprocess", "rpc", "schema", "session"}, // session: finds and starts the host of -session
		theirs: []string{"github.com/modelcontextprotocol/go-sdk", "github.com/google/jsonschema-go", "golang.org/x/term", "golang.org/x/sys"},
		why:    "the MCP front end is a client like any other: what it needs and the protocol lacks is missing in the protocol",
	},
	{
		pkg:    "cmd/internal/base",
		ours:   []string{"schema", "screen"}, // the similar name; control characters, and the width of the others
		theirs: []string{"golang.org/x/sys"},
		why:    "code shared by all commands contains nothing of a single command",
	},
	{
		pkg:    "cmd/internal/basetest",
		ours:   []string{"jobs"},
		theirs: []string{"github.com/rogpeppe/go-internal/testscript", "go.uber.org/goleak"},
		why:    "test code shared by all commands contains nothing of a single command",
	},
	{
		pkg:    "client",
		ours:   []string{"schema"},
		theirs: []string{"github.com/sourcegraph/jsonrpc2"},
		why:    "a program that imports the client gets types and a connection, and not the server with its terminals and fonts",
	},
	{
		pkg:  "client/inprocess",
		ours: []string{"client", "jobs", "rpc"},
		why:  "it joins a client and a server, and knows nothing of what they say to each other",
	},
	{
		pkg:    "rpc",
		ours:   []string{"jobs", "jobs/stored", "screen", "schema"},
		theirs: []string{"github.com/sourcegraph/jsonrpc2"},
		not: map[string]string{
			"os":      "streams are passed in, so that the protocol can be tested without files",
			"os/exec": "starting programs is the work of jobs",
			"syscall": "jobs reports what the system does, in its own terms",
		},
		why: "the protocol translates messages to calls of jobs; terminals, patterns and files are not its concern",
	},
	{
		pkg:  "jobs",
		ours: []string{"screen", "internal/safedir", "jobs/internal/*", "jobs/stored"},
		not:  map[string]string{"encoding/json": "a job does not know its encoding; the caller passes functions that encode"},
		why:  "jobs do not depend on the protocol that describes them",
	},
	{
		pkg:  "jobs/stored",
		ours: []string{"jobs/internal/cast", "jobs/internal/match", "jobs/internal/plain", "jobs/internal/spool", "jobs/internal/store", "screen"},
		not:  map[string]string{"encoding/json": "the stored information about a job is decoded by a function that the caller passes"},
		why:  "stored jobs are read without a server or a job",
	},
	{
		pkg:  "jobs/internal/view",
		ours: []string{"jobs/internal/match", "jobs/internal/spool", "jobs/internal/turn", "screen"}, // turn: a lock that can be used as a channel
		why:  "drawing a screen needs output, sizes and queries, but no job and no turn",
	},
	{
		pkg:  "jobs/internal/storedtest",
		ours: []string{"jobs/stored", "jobs/internal/spool"},
		why:  "tests write state directories without a job",
	},
	{
		pkg:    "jobs/internal/proc",
		theirs: []string{"github.com/creack/pty", "golang.org/x/sys"},
		why:    "a process on a terminal or pipes does not depend on the other packages",
	},
	{
		pkg:    "jobs/internal/keeper",
		theirs: []string{"golang.org/x/sys"},
		why:    "keepers are many and small, and bugs elsewhere must not affect them",
	},
	{
		pkg:    "jobs/internal/direct",
		ours:   []string{"jobs/internal/keeper", "jobs/internal/proc"}, // shared types, and command lines
		theirs: []string{"golang.org/x/sys"},
		why:    "ending a process tree must not depend on jobs",
	},
	{
		pkg:    "jobs/internal/match",
		theirs: []string{"github.com/dlclark/regexp2/v2"},
		why:    "matching depends only on bytes",
	},
	{
		pkg:  "jobs/internal/store",
		ours: []string{"internal/safedir"},
		why:  "the places of files do not depend on their contents",
	},
	{
		pkg:    "session",
		ours:   []string{"internal/safedir", "internal/front"}, // front: what a process passes on
		theirs: []string{"golang.org/x/sys"},
		why:    "descriptors are handed over without knowing what is said on them, and which jobs live behind them",
	},
	{
		pkg:    "internal/front",
		theirs: []string{"golang.org/x/sys"},
		not: map[string]string{
			"fmt":           "a front lives as long as its client, and every package costs memory",
			"net":           "a front lives as long as its client, and every package costs memory",
			"encoding/json": "a front lives as long as its client, and every package costs memory",
		},
		why: "a front is small, and knows nothing of what it stands for",
	},
	{
		pkg: "internal/safedir",
		why: "whether a directory is safe depends only on the file system",
	},
	{
		pkg:    "jobs/internal/probe",
		theirs: []string{"golang.org/x/sys"},
		why:    "the limits of a machine are examined without the other packages",
	},
	{
		pkg:    "jobs/internal/inputwait",
		theirs: []string{"golang.org/x/sys"},
		why:    "whether a job waits for input is detected from its processes alone",
	},
	{
		pkg:    "jobs/internal/ports",
		theirs: []string{"golang.org/x/sys"},
		why:    "listening ports are found without the other packages",
	},
	{
		pkg:    "jobs/internal/roots",
		theirs: []string{"mvdan.cc/sh/v3/syntax"},
		why:    "the commands that a line runs depend only on the line",
	},
	{
		pkg:  "jobs/internal/echo",
		ours: []string{"jobs/internal/match", "jobs/internal/proc", "jobs/internal/spool"}, // escape sequences, terminal modes, ranges
		why:  "the echo of input depends only on the input, the terminal's modes and the output",
	},
	{
		pkg: "jobs/internal/turn",
		why: "locks and mailboxes depend neither on the work in a turn nor on the messages",
	},
	{
		pkg:  "jobs/internal/shellfiles",
		ours: []string{"jobs/internal/proc", "jobs/internal/shellmark"}, // memory without a name; the names of the start-up files
		why:  "the files between a server and a shell depend on no job, and not on what passes through them",
	},
	{
		pkg:  "jobs/internal/names",
		ours: []string{"jobs/internal/proc", "screen"}, // the similar name, the names of keys
		why:  "how a signal or a key is called depends on no job",
	},
	{
		pkg:  "jobs/internal/plain",
		ours: []string{"jobs/internal/match", "jobs/internal/spool", "screen"}, // the maximum length of a sequence, the stream, control characters
		why:  "plain output depends only on the bytes, not on the job that wrote them",
	},
	{
		pkg:  "jobs/internal/follow",
		ours: []string{"jobs/internal/echo", "jobs/internal/match", "jobs/internal/spool", "jobs/internal/turn"}, // the echo to skip, patterns, the stream, the turn lock
		why:  "pattern matches depend on the output of a job, not on the waits for them",
	},
	{
		pkg:  "jobs/internal/search",
		ours: []string{"jobs/internal/match", "jobs/internal/plain", "jobs/internal/spool"}, // patterns, lines, the stream
		why:  "the results of a search in a stream do not depend on the job that wrote it",
	},
	{
		pkg:  "jobs/internal/searchtest",
		ours: []string{"jobs/internal/match"},
		why:  "tests of searches share what to search for, not how",
	},
	{
		pkg: "jobs/internal/*", // spool, redact, shellmark
		why: "it depends only on bytes",
	},
	{
		pkg:    "screen",
		ours:   []string{"screen/font"},
		theirs: []string{"github.com/mattn/go-runewidth"},
		why:    "a screen depends only on bytes and a size",
	},
	{
		pkg: "screen/font",
		why: "a font is data, and how it is unpacked",
	},
	{
		pkg:    "schema",
		theirs: []string{"github.com/santhosh-tekuri/jsonschema/v5"},
		why:    "the contract does not depend on its implementations",
	},
	{
		pkg: "schema/gen",
		why: "the generator must build even if the generated code does not",
	},
	{
		pkg:    "conformance",
		ours:   []string{"conformance/internal/*"},
		theirs: []string{"github.com/rogpeppe/go-internal/txtar", "github.com/santhosh-tekuri/jsonschema/v5"},
		why:    "the suite is an independent implementation of the contract: it cannot check code that it shares with the server",
	},
	{
		pkg:  "conformance/record",
		ours: []string{"conformance", "conformance/internal/*"},
		why:  "it writes sessions for the suite, so it checks messages only with the suite's implementation of the contract",
	},
	{
		pkg: "conformance/internal/*", // wire, process
		why: "messages and processes do not depend on an implementation of the contract",
	},
}

// soleImporters lists the files that may import a library, so that a replacement or patch of the library changes only
// one place.
var soleImporters = map[string][]string{
	"github.com/sourcegraph/jsonrpc2":          {"client/conn.go", "client/errors.go", "client/stream.go", "rpc/server.go", "rpc/stream.go"},
	"github.com/creack/pty":                    {"jobs/internal/proc/pty_*.go"},
	"github.com/dlclark/regexp2/v2":            {"jobs/internal/match/engine.go"},
	"github.com/santhosh-tekuri/jsonschema/v5": {"schema/compile.go", "conformance/*.go"},
	"github.com/mattn/go-runewidth":            {"screen/width.go"},
	"mvdan.cc/sh":                              {"jobs/internal/roots/*.go"},
	"github.com/modelcontextprotocol/go-sdk":   {"cmd/shelld-mcp/*.go"},
	"github.com/google/jsonschema-go":          {"cmd/shelld-mcp/tool.go", "cmd/shelld-mcp/params.go"},
	"github.com/rogpeppe/go-internal":          {"conformance/session.go", "cmd/internal/basetest/main.go"},
}

const module = "shelld.dev/shelld"

// complaint returns the error in an import, or "".
func complaint(file, imported string) string {
	pkg := path.Dir(file)
	i := slices.IndexFunc(rules, func(r rule) bool { return fits(r.pkg, pkg) })
	if i < 0 {
		return fmt.Sprintf("%s: the package %s has no row in the table of rules; write down what it may import, and why", file, pkg)
	}
	r := rules[i]
	first, _, _ := strings.Cut(imported, "/")
	switch inside, ours := strings.CutPrefix(imported, module+"/"); {
	case ours && !slices.ContainsFunc(r.ours, func(p string) bool { return fits(p, inside) }):
		return fmt.Sprintf("%s must not import %s: %s", file, imported, r.why)
	case ours:
		return ""
	case !strings.Contains(first, "."):
		if why := r.not[imported]; why != "" {
			return fmt.Sprintf("%s must not import %s: %s", file, imported, why)
		}
		return ""
	case !slices.ContainsFunc(r.theirs, func(m string) bool { return within(m, imported) }):
		return fmt.Sprintf("%s must not import %s: %s", file, imported, r.why)
	}
	for library, files := range soleImporters {
		if within(library, imported) && !slices.ContainsFunc(files, func(p string) bool { return fits(p, file) }) {
			return fmt.Sprintf("%s must not import %s: that belongs into %s, so that replacing it is a change of one place", file, imported, strings.Join(files, " and "))
		}
	}
	return ""
}

func fits(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}

func within(module, imported string) bool {
	return imported == module || strings.HasPrefix(imported, module+"/")
}

// TestImports checks every file against the rules, including files for other systems.
func TestImports(t *testing.T) {
	packages := map[string]bool{}
	for file, syntax := range sources(t) {
		packages[path.Dir(file)] = true
		for _, spec := range syntax.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			if bad := complaint(file, imported); bad != "" {
				t.Error(bad)
			}
		}
	}
	for _, must := range []string{"client", "client/inprocess", "cmd/shelld", "cmd/shelld-mcp", "rpc", "jobs", "jobs/internal/proc", "schema", "session"} {
		if !packages[must] {
			t.Errorf("the package %s was not looked at", must)
		}
	}
}

// TestImportRules checks that the rules reject forbidden imports.
func TestImportRules(t *testing.T) {
	for _, test := range []struct{ file, imported, want string }{
		{"rpc/server.go", "shelld.dev/shelld/jobs", ""},
		{"rpc/server.go", "github.com/sourcegraph/jsonrpc2", ""},
		{"rpc/jobs.go", "github.com/sourcegraph/jsonrpc2", "change of one place"},
		{"client/conn.go", "github.com/sourcegraph/jsonrpc2", ""},
		{"client/job.go", "github.com/sourcegraph/jsonrpc2", "change of one place"},
		{"client/client.go", "shelld.dev/shelld/rpc", "not the server"},
		{"client/inprocess/inprocess.go", "shelld.dev/shelld/rpc", ""},
		{"client/inprocess/inprocess.go", "shelld.dev/shelld/schema", "joins a client and a server"},
		{"rpc/jobs.go", "github.com/creack/pty", "terminals, patterns and files are not its concern"},
		{"rpc/jobs.go", "os/exec", "starting programs"},
		{"rpc/jobs.go", "shelld.dev/shelld/jobs/internal/spool", "terminals, patterns and files are not its concern"},
		{"jobs/job.go", "shelld.dev/shelld/rpc", "do not depend on the protocol"},
		{"jobs/job.go", "encoding/json", "does not know its encoding"},
		{"jobs/job.go", "shelld.dev/shelld/jobs/internal/spool", ""},
		{"jobs/internal/spool/spool.go", "golang.org/x/sys/unix", "it depends only on bytes"},
		{"jobs/internal/plain/excerpt.go", "shelld.dev/shelld/jobs/internal/spool", ""},
		{"jobs/internal/plain/excerpt.go", "shelld.dev/shelld/jobs", "depends only on the bytes"},
		{"jobs/internal/search/back.go", "shelld.dev/shelld/jobs", "the job that wrote it"},
		{"jobs/internal/follow/inline.go", "shelld.dev/shelld/jobs/internal/echo", ""},
		{"jobs/internal/follow/inline.go", "shelld.dev/shelld/jobs", "not on the waits for them"},
		{"jobs/stored/tidy.go", "shelld.dev/shelld/jobs/internal/store", ""},
		{"jobs/stored/tidy.go", "shelld.dev/shelld/jobs", "without a server or a job"},
		{"jobs/stored/tidy.go", "encoding/json", "the caller passes"},
		{"jobs/internal/view/view.go", "shelld.dev/shelld/jobs", "no job and no turn"},
		{"jobs/internal/roots/walk.go", "mvdan.cc/sh/v3/syntax", ""},
		{"jobs/internal/roots/walk.go", "mvdan.cc/sh/v3/interp", "depend only on the line"},
		{"jobs/policy.go", "mvdan.cc/sh/v3/syntax", "jobs do not depend on the protocol"},
		{"jobs/internal/proc/pty_darwin.go", "github.com/creack/pty", ""},
		{"jobs/internal/proc/pipe.go", "github.com/creack/pty", "change of one place"},
		{"jobs/internal/keeper/wire.go", "shelld.dev/shelld/jobs/internal/proc", "many and small"},
		{"schema/validate.go", "github.com/santhosh-tekuri/jsonschema/v5", "change of one place"},
		{"schema/validate.go", "github.com/santhosh-tekuri/jsonschema/v6", "the contract does not depend on its implementations"},
		{"screen/picture.go", "shelld.dev/shelld/screen/font", ""},
		{"screen/picture.go", "shelld.dev/shelld/jobs", "only on bytes and a size"},
		{"screen/font/font.go", "golang.org/x/image/font", "a font is data"},
		{"conformance/replay.go", "shelld.dev/shelld/schema", "independent implementation"},
		{"conformance/run.go", "shelld.dev/shelld/conformance/record", "independent implementation"},
		{"conformance/record/story.go", "shelld.dev/shelld/schema", "implementation of the contract"},
		{"conformance/internal/wire/json.go", "shelld.dev/shelld/conformance", "do not depend on an implementation"},
		{"cmd/shelld/demo.go", "go.uber.org/goleak", "only wires things up"},
		{"cmd/shelld-mcp/tool.go", "github.com/modelcontextprotocol/go-sdk/mcp", ""},
		{"cmd/shelld-mcp/bash.go", "github.com/google/jsonschema-go/jsonschema", "change of one place"},
		{"cmd/shelld-mcp/screen.go", "shelld.dev/shelld/screen", "a client like any other"},
		{"cmd/shelld/main.go", "github.com/modelcontextprotocol/go-sdk/mcp", "only wires things up"},
		{"cmd/shelld-mcp/main.go", "shelld.dev/shelld/cmd/internal/base", ""},
		{"session/host_unix.go", "shelld.dev/shelld/internal/safedir", ""},
		{"session/host_unix.go", "shelld.dev/shelld/rpc", "handed over without knowing"},
		{"internal/front/front.go", "fmt", "costs memory"},
		{"cmd/internal/base/text.go", "shelld.dev/shelld/jobs", "shared by all commands"},
		{"rpc/server.go", "shelld.dev/shelld/cmd/internal/base", "terminals, patterns and files are not its concern"},
		{"util/strings.go", "strings", "no row in the table"},
	} {
		got := complaint(test.file, test.imported)
		if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s importing %s: %q, not %q", test.file, test.imported, got, test.want)
		}
	}
}

// TestPackageComments checks that each package has exactly one package comment.
func TestPackageComments(t *testing.T) {
	comments := map[string][]string{} // by package
	for file, syntax := range sources(t) {
		pkg := path.Dir(file)
		if comments[pkg] == nil {
			comments[pkg] = []string{}
		}
		if syntax.Doc == nil {
			continue
		}
		comments[pkg] = append(comments[pkg], file)
		want := "Package " + syntax.Name.Name + " "
		if syntax.Name.Name == "main" {
			want = "Command " + path.Base(pkg) + " "
		}
		if !strings.HasPrefix(syntax.Doc.Text(), want) {
			t.Errorf("%s: the package comment does not begin with %q", file, want)
		}
	}
	for pkg, files := range comments {
		if len(files) != 1 {
			t.Errorf("%s has %d package comments, not one: %v", pkg, len(files), files)
		}
	}
}

// sources parses the imports of all files of the module except tests, by path from the module's root.
func sources(t *testing.T) map[string]*ast.File {
	t.Helper()
	root := filepath.Join("..", "..")
	if _, err := os.Stat(filepath.Join(root, "go.mod")); err != nil {
		t.Fatal(err)
	}
	files := map[string]*ast.File{}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != root && elsewhere(name):
			return filepath.SkipDir
		case d.IsDir() || filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		syntax, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly|parser.ParseComments)
		if err != nil {
			return err
		}
		inside, err := filepath.Rel(root, name)
		files[filepath.ToSlash(inside)] = syntax
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// elsewhere reports whether a directory is outside the module, by the rules of the go command.
func elsewhere(dir string) bool {
	base := filepath.Base(dir)
	if base[0] == '.' || base[0] == '_' || base == "testdata" || base == "node_modules" {
		return true
	}
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil
}
