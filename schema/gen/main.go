// Command gen writes the Go types of the protocol from the schema files, and for
// their tests a table that says which type is whose. It is run by go generate in
// the schema folder; its test fails when the files there are not what it would write.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	in := flag.String("in", "json", "the `folder` of the schema files")
	out := flag.String("out", ".", "the `folder` to write types_gen.go and types_gen_test.go to")
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
	if err := os.WriteFile(filepath.Join(out, "types_gen.go"), s.types, 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(out, "types_gen_test.go"), s.table, 0o644)
}
