// Package rpc is the protocol: messages in, messages out. It turns requests into
// calls of package jobs and events into notifications, and knows nothing of
// terminals, processes or files.
//
// # The life of a request
//
//	stdin -> frameReader.Next            one frame            (frame.go)
//	      -> parseEnvelope               one checked message  (envelope.go)
//	      -> Server.Handle -> begin      life cycle, method   (server.go, lifecycle.go)
//	      -> handler                     params, by schema    (methods.go, jobs.go)
//	      -> jobs: a message to the job's loop, in arrival order
//	      -> await                       a goroutine has the rest, where there is any
//	      -> answer -> outbox            a control message    (outbox.go)
//	      -> stdout                      at once where that blocks nobody (direct.go)
//
// Everything up to the job's loop happens on the one reading goroutine, so requests
// that name the same job take effect in the order in which they came. Nothing there
// blocks: not on a job, not on the client.
//
// The server's own requests go the other way, and their answers come back on the reading
// goroutine: requests.go.
//
// # Goroutines
//
//  1. The reading goroutine belongs to jsonrpc2.Conn. It blocks on the input, and
//     ends with it.
//  2. outbox.run is the writer that may block on the output. It ends when all is sent or
//     the output breaks.
//  3. One goroutine per request that a job has not answered yet; the job's answer
//     ends it.
//
// The goroutines of package jobs send events themselves, a little at a time, where the
// output takes it at once; one at a time is the writer.
//
// # Ordering guarantees
//
// The events of a job keep their order, and come after the output that they speak
// of. job/started comes before the answer to the request that made the job. Answers
// overtake output and events: they say with offsets what they cover. The answer to
// job/subscribe and job/unsubscribe parts what is sent of the job as it was from what
// is sent as it was asked for (subscribe.go). A request of the server's that a job is the
// reason of comes behind that job's output like an event, and is taken back at once.
//
// # Malformed input
//
// It is answered, and reading goes on. Only a header block that cannot be parsed,
// and an announced length over the limit, end the connection, since nobody can say
// where the next message begins.
package rpc
