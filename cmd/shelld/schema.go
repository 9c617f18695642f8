package main

import (
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"shelld/schema"
)

// printSchema prints the names of the schema files, or one of them. Method names are
// taken as they are spelled on the wire.
func printSchema(args []string) int {
	switch len(args) {
	case 0:
		for _, name := range schemaNames() {
			fmt.Println(name)
		}
		return 0
	case 1:
		name := strings.ReplaceAll(strings.TrimPrefix(args[0], "$/"), "/", "-")
		file, err := schema.File(name)
		if err == nil {
			_, err = os.Stdout.Write(file)
		} else if near := schema.Nearest(name, schemaNames()); near != "" {
			err = fmt.Errorf("there is no schema %q; did you mean %s?", args[0], near)
		} else {
			err = fmt.Errorf("there is no schema %q; shelld schema lists those there are", args[0])
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "shelld schema:", err)
			return 1
		}
		return 0
	}
	fmt.Fprintln(os.Stderr, "usage: shelld schema [NAME]")
	return 2
}

// schemaNames are the names that printSchema takes, sorted.
func schemaNames() (names []string) {
	files, _ := fs.Glob(schema.Files(), "*.schema.json") // The pattern is good.
	for _, f := range files {
		names = append(names, strings.TrimSuffix(f, ".schema.json"))
	}
	slices.Sort(names)
	return names
}
