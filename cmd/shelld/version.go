package main

import (
	"flag"
	"fmt"
	"runtime"

	"shelld.dev/shelld/cmd/internal/base"
)

func versionCommand() *base.Command {
	return &base.Command{
		Name:    "version",
		Summary: "print the version",
		Flags:   func(*flag.FlagSet) func(*base.Call) int { return version },
	}
}

func version(*base.Call) int {
	fmt.Printf("shelld %s (protocol 1, %s, %s/%s)\n", base.Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return 0
}
