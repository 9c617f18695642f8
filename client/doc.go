// Package client drives a server of the Shell Server Protocol: it runs commands, answers their questions, reads their
// screens, and ends them with everything that they have started.
//
//	c, err := client.Start(ctx, client.Options{}) // $SHELLD, or shelld on PATH
//	defer c.Close()
//	r, err := c.Run(ctx, client.Line("npm test"))
//
// [Start] starts a server as a child process; [Connect] uses given streams; package client/inprocess has a server in
// this process. [Client.Run] runs a command to its end. [Client.Start] starts a [Job]: Output and Lines range over its
// output, Wait waits for facts, Question and Answer lead a dialogue, Exec runs commands in a shell that remembers,
// Press and Screen drive full-screen programs. The [Outcome] of a wait has output, exit code and question. [Call] makes
// every other call of the protocol; the types are those of package schema, and functions that edit params give access
// to all of their members.
//
// # Cancellation and clean-up
//
// When the context of a call is done, the request is withdrawn, and the error is that of the context. Run then ends its
// command. Job.Close ends a job and its tree, Client.Close the server and all jobs, and so does the end of the context
// of Start. If this process dies, the server ends, and with it all jobs.
//
// # Errors
//
// An [*Error] is the server's answer, with a kind to decide by. A [*StartError] is a server that could not be used, a
// [*GoneError] one that has ended without an answer. An exit status other than 0 is no error: see [Result.Err].
package client
