package main

import (
	"fmt"
	"runtime"

	"shelld/cmd/internal/base"
)

func version([]string) int {
	fmt.Printf("shelld %s (protocol 1, %s, %s/%s)\n", base.Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return 0
}
