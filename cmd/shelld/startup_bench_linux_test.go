package main

import (
	"bufio"
	"cmp"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"
)

// BenchmarkStartUp measures the time before anything runs: a whole `shelld run true`, and a server process from its
// start to the answer to initialize. For comparison it measures `true` itself, and `shelld version`, which only loads
// the program.
func BenchmarkStartUp(b *testing.B) {
	binary := cmp.Or(os.Getenv("SHELLD_BENCH"), "shelld")
	commands := map[string][]string{"bare": {"true"}, "version": {binary, "version"}, "run": {binary, "run", "true"}}
	for _, name := range []string{"bare", "version", "run"} {
		b.Run(name, func(b *testing.B) {
			measure(b, 0, func() {
				c := exec.Command(commands[name][0], commands[name][1:]...)
				c.Stderr = os.Stderr
				if err := c.Run(); err != nil {
					b.Fatal(err)
				}
			})
		})
	}
	b.Run("initialize", func(b *testing.B) {
		var l []time.Duration
		for b.Loop() {
			l = append(l, timeInitialize(b, binary))
		}
		report(b, l)
	})
}

// timeInitialize starts a server, and returns the time until it answers initialize.
func timeInitialize(b *testing.B, binary string) time.Duration {
	b.Helper()
	c := exec.Command(binary, "serve")
	c.Stderr = os.Stderr
	begun := time.Now()
	in, out := startPiped(b, c)
	_, _ = io.WriteString(in, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`+"\n")
	answers := bufio.NewReader(out)
	if _, err := answers.ReadString('\n'); err != nil {
		b.Fatal(err)
	}
	took := time.Since(begun)
	_ = in.Close()
	_, _ = io.Copy(io.Discard, answers)
	_ = c.Wait() // The status is 1, because it was not shut down.
	return took
}
