// Command gen writes the Go types of the protocol from the schema files, the rules by which the server recognises valid
// values, and, for tests, a table of definitions and their types. It also writes the types of the client packages. It is
// run by go generate in the schema folder. Its test fails if the files there are not the ones that it would write.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	in := flag.String("in", "json", "the `folder` of the schema files")
	out := flag.String("out", ".", "the `folder` to write the *_gen.go and *_gen_test.go to; the clients are in ../clients")
	flag.Parse()
	if err := run(*in, *out); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run(in, out string) error {
	s, err := generate(os.DirFS(in))
	if err != nil {
		return err
	}
	for name, source := range s.byName() {
		path := filepath.Join(out, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, source, 0o644); err != nil {
			return err
		}
	}
	return nil
}
