// Package rpc implements the protocol. It turns requests into calls of package jobs, and events into notifications. It
// knows nothing of terminals, processes or files.
//
// # The life of a request
//
//	stdin -> frameReader.Next            one frame            (frame.go)
//	      -> parseEnvelope               one checked message  (envelope.go)
//	      -> Server.Handle -> begin      life cycle, method   (server.go, lifecycle.go)
//	      -> handler                     params, by schema    (methods.go, jobs.go)
//	      -> jobs: a message to the job's loop, in arrival order
//	      -> await                       the rest, if any, in a goroutine
//	      -> answer -> outbox            a control message    (outbox.go)
//	      -> stdout                      at once if that does not block (direct.go)
//
// Everything up to the job's loop happens on the one reading goroutine, so requests that name the same job take effect
// in the order in which they arrived. Nothing there blocks: neither a job nor the client can delay it.
//
// The server's own requests go the other way, and their answers arrive on the reading goroutine: requests.go.
//
// # Goroutines
//
//  1. The reading goroutine belongs to jsonrpc2.Conn. It blocks on the input, and ends with it.
//  2. outbox.run is the writer that may block on the output. It ends when everything is sent or the output breaks.
//  3. One goroutine per request that a job has not answered yet; the job's answer ends it.
//
// The goroutines of package jobs send events themselves, a little at a time, if the output takes it at once. There is
// one writer at a time.
//
// # Ordering guarantees
//
// The events of a job keep their order, and come after the output to which they refer. job/started comes before the
// answer to the request that started the job. Answers overtake output and events: they use offsets to say which output
// they cover. The answer to job/subscribe and job/unsubscribe separates the messages of the old subscription from those
// of the new one (subscribe.go). A request of the server that concerns a job comes after that job's output, like an
// event; its withdrawal is sent at once.
//
// # Malformed input
//
// It is answered, and reading goes on. Only a header block that cannot be parsed, and an announced length over the
// limit, end the connection, since the start of the next message is unknown.
package rpc
