package client_test

import (
	"bytes"
	"context"
	"fmt"
	"image/png"
	"net/http"
	"sync"
	"time"

	"shelld.dev/shelld/client"
	"shelld.dev/shelld/schema"
)

// Programs begin with these; must ends an example at the first error.

var ctx = context.Background()

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// Run a command, and look at its status.
func Example_run() {
	c := must(client.Start(ctx, client.Options{}))
	defer c.Close()
	r := must(c.Run(ctx, client.Line("echo hi; echo oh >&2; exit 3")))
	fmt.Printf("%d %q %q\n", r.Code, r.Stdout, r.Stderr)
	fmt.Println(r.Err())
	// Output:
	// 3 "hi\n" "oh\n"
	// the command ended with status 3: oh
}

// Read the output by lines, while the program writes it.
func Example_lines() {
	c := must(client.Start(ctx, client.Options{}))
	defer c.Close()
	job := must(c.Start(ctx, client.Line("for i in 1 2 3; do echo line $i; sleep 0.1; done")))
	for line, err := range job.Lines(ctx) {
		fmt.Println(line, err)
	}
	// Output:
	// line 1 <nil>
	// line 2 <nil>
	// line 3 <nil>
}

// Answer a question, without knowing what it looks like.
func Example_question() {
	c := must(client.Start(ctx, client.Options{}))
	defer c.Close()
	job := must(c.Start(ctx, client.Line(`read -p "Name? " n; echo "Hello, $n"`)))
	q := must(job.Question(ctx))
	fmt.Println(q.Prompt, "→", must(job.Answer(ctx, "Ada")).Text())
	// Output: Name? → Hello, Ada
}

// Lead a dialogue with an interpreter.
func Example_repl() {
	c := must(client.Start(ctx, client.Options{}))
	defer c.Close()
	python := must(c.Start(ctx, client.Argv("python3", "-q")))
	must(python.Question(ctx))
	must(python.Answer(ctx, "x = 6"))
	fmt.Println(must(python.Answer(ctx, "x * 7")).Text())
	// Output:
	// 42
	// >>>
}

// Wait until a server listens, on a port that it chooses.
func Example_port() {
	c := must(client.Start(ctx, client.Options{}))
	defer c.Close()
	web := must(c.Start(ctx, client.Line("python3 -m http.server 0 --bind 127.0.0.1")))
	o := must(web.Wait(ctx, client.Port(0)))
	answer := must(http.Get(fmt.Sprintf("http://127.0.0.1:%d/", *o.Match.Port)))
	answer.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	fmt.Println(o.Reason, answer.Status)
	// Output: port 200 OK
}

// End a job with everything that it has started, and learn what that was.
func Example_kill() {
	c := must(client.Start(ctx, client.Options{}))
	defer c.Close()
	job := must(c.Start(ctx, client.Line(`trap "" TERM; setsid sleep 1000 & sleep 1000 & echo up; wait`)))
	must(job.Wait(ctx, client.Pattern("up")))
	k := must(job.Kill(ctx, 300*time.Millisecond))
	fmt.Println(len(k.Killed), "killed,", len(k.Survivors), "left")
	// Output: 3 killed, 0 left
}

// Run commands in a shell that remembers.
func Example_shell() {
	c := must(client.Start(ctx, client.Options{}))
	defer c.Close()
	sh := must(c.Start(ctx, client.Shell("bash")))
	must(sh.Exec(ctx, "cd / && who=Ada"))
	r := must(sh.Exec(ctx, `echo "hello $who"; false`))
	fmt.Print(r.Output, *r.ExitCode, " ", *r.Cwd)
	// Output:
	// hello Ada
	// 1 /
}

// Type into a full-screen program, and take a picture of it.
func Example_screenshot() {
	c := must(client.Start(ctx, client.Options{}))
	defer c.Close()
	vim := must(c.Start(ctx, client.Line("vim -u NONE -i NONE -n"), func(p *schema.JobStartParams) { p.Cols, p.Rows = new(int64(60)), new(int64(12)) }))
	must(vim.Question(ctx))
	vim.Write(ctx, "ihello")
	fmt.Println(must(vim.Wait(ctx, client.OnScreen("^hello$", "m"))).Reason)
	vim.Press(ctx, "Escape")
	fmt.Println(must(vim.Screen(ctx)).Lines[0], must(png.Decode(bytes.NewReader(must(vim.Screenshot(ctx))))).Bounds())
	// Output:
	// pattern
	// hello (0,0)-(480,192)
}

// Have a person type a password, which the program gets and nothing else.
func Example_secret() {
	ask := func(_ context.Context, ask schema.ClientSecretParams) (string, error) {
		fmt.Println("asked:", ask.Prompt)
		return "hunter2", nil
	}
	c := must(client.Start(ctx, client.Options{OnSecret: ask}))
	defer c.Close()
	job := must(c.Start(ctx, client.Line(`read -s -p "Password: " p; echo; echo "got ${#p} characters: $p"`)))
	fmt.Println(*must(job.Wait(ctx, client.Pattern("got.*"))).Match.Text)
	// Output:
	// asked: Password:
	// got 7 characters: ***
}

// Run several commands at once, with a time limit.
func Example_several() {
	c := must(client.Start(ctx, client.Options{}))
	defer c.Close()
	soon, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	var all sync.WaitGroup
	for _, line := range []string{"true", "sleep 1000"} {
		all.Go(func() { _, err := c.Run(soon, client.Line(line)); fmt.Println(line, err != nil) })
	}
	all.Wait()
	// Unordered output:
	// true false
	// sleep 1000 true
}
