package client_test

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"shelld.dev/shelld/client"
)

// watchdog limits steps that normally take a second.
const watchdog = 60 * time.Second

// roles are what this binary does in place of the tests, by the name under which it is run. They stand for programs
// that are no shelld, or one that fails.
var roles = map[string]func(){
	"quiet":   func() { _, _ = io.Copy(io.Discard, os.Stdin) },
	"echo":    func() { _, _ = io.Copy(os.Stdout, os.Stdin) },
	"chatter": func() { fmt.Println("hello, this is no JSON"); _, _ = io.Copy(io.Discard, os.Stdin) },
	"crash":   func() { fmt.Fprintln(os.Stderr, "no space left on device"); os.Exit(3) },
	"group":   func() { fmt.Fprintln(os.Stderr, "leader", unix.Getpgrp() == os.Getpid()); os.Exit(3) },
	"old":     func() { answer(`{"protocolVersion":"0","serverInfo":{"name":"old"},"capabilities":{}}`) },
	"newer":   func() { answer(newer); _, _ = io.Copy(io.Discard, os.Stdin) },
	"jobless": func() {
		answer(`{"protocolVersion":"1","capabilities":{"modes":[],"treeControl":{"notReached":["all of it"]}}}`)
	},
	"dies": dies,
	"garbles": func() {
		answer(newer)
		readLine()
		fmt.Println("panic: index out of range")
		_, _ = io.Copy(io.Discard, os.Stdin)
	},
	"stops":     func() { answer(newer); time.Sleep(time.Hour) },
	"parent":    parent,
	"two words": func() { _, _ = io.Copy(io.Discard, os.Stdin) },
}

// newer is the answer of a server with members that this client does not know.
const newer = `{"protocolVersion":"1","serverInfo":{"name":"newer","colour":"blue"},"capabilities":{"modes":["pty","hologram"],"telepathy":{}},"limits":{},"new":[1]}`

func readLine() {
	var b [1]byte
	for {
		if n, err := os.Stdin.Read(b[:]); n == 0 || err != nil || b[0] == '\n' {
			return
		}
	}
}

// answer reads initialize and answers it.
func answer(result string) {
	readLine()
	fmt.Printf(`{"jsonrpc":"2.0","id":1,"result":%s}`+"\n", result)
	readLine() // initialized
}

func dies() {
	answer(newer)
	readLine()
	fmt.Fprintln(os.Stderr, "fatal error: out of memory")
	os.Exit(2)
}

// parent is a client that is killed: it starts a job, prints the job's process, and waits.
func parent() {
	c, err := client.Start(context.Background(), client.Options{})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	j, err := c.Start(context.Background(), client.Line("sleep 1000 & sleep 1001"))
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(j.Info.PID)
	select {}
}

// programs is a directory with this binary under the names of the roles.
var programs string

func TestMain(m *testing.M) {
	if role := roles[filepath.Base(os.Args[0])]; role != nil {
		role()
		return
	}
	os.Exit(run(m))
}

// run builds shelld, unless $SHELLD names one, and fails if the tests leave a goroutine behind.
func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "shelld client ")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	programs = dir
	self, err := os.Executable()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	for name := range roles {
		if err := os.Symlink(self, filepath.Join(dir, name)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	os.Setenv("XDG_STATE_HOME", dir)
	if os.Getenv("SHELLD") == "" {
		path := filepath.Join(dir, "shelld")
		if out, err := exec.Command("go", "build", "-o", path, "shelld.dev/shelld/cmd/shelld").CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "%s%v\n", out, err)
			return 1
		}
		os.Setenv("SHELLD", path)
	}
	flag.Parse()
	if os.Getenv("SHELLD_CI") == "" { // An example cannot skip itself.
		var missing []string
		for program, example := range map[string]string{"vim": "Example_screenshot", "python3": "Example_(repl|port)"} {
			if _, err := exec.LookPath(program); err != nil {
				missing = append(missing, example)
			}
		}
		if len(missing) > 0 {
			_ = flag.Set("test.skip", strings.Join(missing, "|")) // The flag is there.
		}
	}
	code := m.Run()
	if err := goleak.Find(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return max(code, 1)
	}
	return code
}

// start returns a client of the shelld of the tests.
func start(t *testing.T, o client.Options) *client.Client {
	t.Helper()
	c, err := client.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func contains(t *testing.T, what, got, want string) {
	t.Helper()
	if !strings.Contains(got, want) {
		t.Errorf("%s: %q, want %q in it", what, got, want)
	}
}
