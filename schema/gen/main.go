// Command gen writes the Go types of the protocol from the schema files, the rules by which the server recognises valid
// values, for tests a table of definitions and their types, and the types of the clients in other languages. It is run
// by go generate in the schema folder. Its test fails if the files there are not the ones that it would write.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	in := flag.String("in", "json", "the `folder` of the schema files")
	out := flag.String("out", ".", "the `folder` of the generated files; those of the clients are beside it")
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
