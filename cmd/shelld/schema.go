package main

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"shelld.dev/shelld/cmd/internal/base"
	"shelld.dev/shelld/schema"
)

func schemaCommand() *base.Command {
	return &base.Command{
		Name:     "schema",
		Operands: "[NAME]",
		Summary:  "list the protocol's schema files, or print one by its name",
		About:    "Lists the protocol's schema files, or prints one. NAME may be a method, such as job/start.",
		Notes:    "Exit status: 0 if it was printed, 1 if that failed, 2 if the command line is wrong or there is no such schema.",
		Flags:    func(*flag.FlagSet) func(*base.Call) int { return printSchema },
	}
}

// printSchema prints the names of the schema files, or one of the files. It accepts method names in the protocol's
// spelling.
func printSchema(c *base.Call) int {
	switch len(c.Args) {
	case 0:
		for _, name := range schemaNames() {
			fmt.Println(name)
		}
		return 0
	case 1:
		return printOneSchema(c, c.Args[0])
	}
	return c.Wrong("unexpected argument %q: give one name", c.Args[1])
}

func printOneSchema(c *base.Call, arg string) int {
	name := strings.ReplaceAll(strings.TrimPrefix(arg, "$/"), "/", "-")
	file, err := schema.File(name)
	if err != nil {
		if near := schema.Nearest(name, schemaNames()); near != "" {
			return c.Wrong("there is no schema %q; did you mean %s?", arg, near)
		}
		return c.Wrong("there is no schema %q; shelld schema lists all", arg)
	}
	if _, err := os.Stdout.Write(file); err != nil {
		fmt.Fprintln(os.Stderr, "shelld schema:", base.Explain(err))
		return 1
	}
	return 0
}

// schemaNames returns the names that printSchema accepts, sorted.
func schemaNames() (names []string) {
	files, _ := fs.Glob(schema.Files(), "*.schema.json") // The pattern is valid.
	for _, f := range files {
		names = append(names, strings.TrimSuffix(f, ".schema.json"))
	}
	slices.Sort(names)
	return names
}
