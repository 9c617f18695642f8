// Package conformance checks a server of the Shell Server Protocol against session files. A session file lists
// the messages that a client sends and the messages that must come back. The package shares no code with any
// server. It reads the contract from the protocol's schema files. The server is a command: it is started afresh
// for each session, and the runner talks to it over its stdin and stdout.
//
// [Run] plays one [Session], [RunAll] plays many, and a [Report] prints the [Result]s. Package record writes
// sessions. The command is "shelld conformance".
//
// # Session files
//
// A session is a text file in the txtar format: a preamble, then sections, each headed by a line "-- words --". A
// section is one step. The words of its header are the verb and its arguments; the lines below are its body.
// Steps are executed in order. An unknown word, member or variable is an error that names file, line and column.
//
//	A job's exit is reported once, after all its output.
//
//	protocol: "exited: once: the leader was reaped, and all that it wrote has been sent" (section 5)
//	level: core
//	needs: mode pipe
//
//	-- send start --
//	job/start {argv: ["echo", "hello"], mode: "pipe"}
//	-- answer start --
//	{job: {handle: $h:int, status: "running"}}
//	-- output $h stdout --
//	"hello\n"
//	-- expect --
//	job/exited {handle: $h, exit: {code: 0, signal: null, reason: "exited"}}
//	job/closed {handle: $h}
//
// # Preamble
//
// A description in prose, then keys, each on a line of its own:
//
//	protocol: SENTENCE    the sentence of the protocol that the session tests
//	level: LEVEL          core (the default), trees, terminal, store, policy, sessions
//	needs: KIND NAME, …   requirements; the session is skipped if the server or the machine
//	                      lacks one. May appear several times. Of the server's capabilities:
//	                      mode, method, event, condition, signal, key, encoding, query,
//	                      readFormat, waitFormat, shellIntegration (a shell's family), limit,
//	                      inputDetection (this tier or a better one), capability (a member
//	                      that is true). Of the machine: platform (the name in Go: linux,
//	                      darwin), program (on PATH)
//	lacks: KIND NAME, …   capabilities that the server must not have; the session is
//	                      skipped if it has one
//	framing: FRAMING      header, line, or both (the default: the session is run in each)
//	args: WORDS           arguments appended to the server's command
//	initialize: no        the runner does not initialize the server
//
// The methods of the send steps, and the modes of the jobs that they start, are implied needs, but not a method
// that the session says must be lacking. If the server's
// capabilities say that it supports nothing of the level, the session is skipped. A server that claims the whole
// level fails if it lacks a needed method, event or condition.
//
// Unless the preamble says no, the runner sends initialize with {} before the first step, awaits its result, and
// sends initialized. If the first step, apart from reply and let, is initialize, its body has the params and, after a line "=>", a pattern
// for the result.
//
// # Values
//
// Values are JSON, with these additions. Member names need no quotes if they are words; a comma may follow the
// last element; // begins a comment.
//
//	$name           the variable's value. In an expected value: the variable is bound to the
//	                actual value if it has none yet; otherwise the two must be equal
//	$name:int       the same, and the value must be of that kind
//	$name + 5       an integer more; also - 5
//	"pid ${pid}"    a variable in a string; $${ stands for ${ itself
//	@repeat 9 "x"   the string, repeated that many times
//
// Only in expected values:
//
//	@any @int @number @string @bool @null @array @object    any value of that kind
//	@time           a date of RFC 3339
//	@nonempty       a string, array or object that is not empty
//	@absent         no such member
//	~"regex"        a string that contains a match (Go's syntax); in ~`regex`, backslashes are
//	                not doubled
//	>= 3  <= 3  > 3  < 3    a number in that range
//	@len 3          a string, array or object with that many characters, elements, members;
//	                the number may be a pattern: @len >= 3
//	{…}             an object with at least these members
//	@exactly {…}    an object with exactly these members
//	[a, ..., b]     an array; ... stands for any number of elements
//	@unordered […]  an array with these elements in any order; with ... in it, and others.
//	                Each pattern takes the first element that it matches
//
// A pattern binds its variables only if it matches as a whole.
//
// # Steps that send
//
//	send NAME                     a request: the method, then params. NAME is its name in later
//	                              steps. A line "id: 7" between them sets the id, in that
//	                              spelling; otherwise the runner numbers the requests
//	send NAME invalid             a request whose params, or method, the schema must reject
//	send NAME unanswered          a request whose id the server cannot read, since the message
//	                              is too long: it is never answered
//	notify, notify invalid        a notification: the method, then params
//	frame [NAME=ID]…              the body is sent as one message of the framing, unchecked.
//	                              NAME=ID names a request that it contains: frame twin=7
//	raw [NAME=ID]…                the body's bytes are sent without any framing; its lines are
//	                              joined, and \n \r \t \\ \xHH \uHHHH stand for characters
//	reply METHOD                  from now on, if the server sends a request of that method
//	                              and its params match the pattern, the runner answers with the
//	                              value after the line "=>". Of several, the last that matches
//	                              counts. A request that matches none is answered
//	                              methodNotFound
//	reply METHOD unanswered       requests that match the pattern are not answered
//	let NAME                      gives a variable a value
//	close stdin                   closes the server's stdin
//	stall, resume                 stops reading the server's stdout, and continues
//	signal NAME                   sends TERM, INT, HUP, KILL, STOP or CONT to the server. After
//	                              KILL, the invariants of the session's end are not checked
//
// Params are validated against the schema before they are sent: a session whose message is invalid is itself
// wrong, unless the step says invalid.
//
// # Steps that await
//
// Each of these, and initialize, takes "within 5s" as its last words; the default is 20 s. The time is only an
// upper bound on silence. It never stands for a fact. A step does not wait for a message that cannot come any more, since the
// job is closed or the answer came before.
//
//	answer NAME                   the result of a request; the body is a pattern or empty
//	error NAME                    its error; the pattern sees code and message, and beside
//	                              them the members of data: {kind: "jobExited", handle: $h}
//	error null                    an error with id null. Each must have such a step
//	error NAME or null            either: a server need not be able to read the id
//	expect                        messages of the server in this order, with any others between
//	                              them: a method and a pattern for its params, or "answer NAME",
//	                              "error NAME" and a pattern. The search begins after the last
//	                              match of the previous expect. A line "id: $x" after the method
//	                              is for the id of a request of the server
//	expect unordered              the same, in any order
//	expect next                   the same, with nothing else of the same job between them
//	expect … of LABEL             begins after the last match of the previous expect with that
//	                              label, or at the beginning: messages of one source need no
//	                              order relative to those of another
//	output HANDLE [STREAM]        the text comes next in the job's output, however it is cut
//	                              into chunks: after the end of the stream's last output step.
//	                              Consecutive strings are joined; a regex may match anywhere
//	                              after that place
//	output … contains             the text comes somewhere after that place
//	output … ends                 the text comes next, and nothing more until job/closed
//	output … from OFFSET          the same, from that offset on
//	bytes HANDLE STREAM           bytes by their offset: lines of 0: "text" or 5: base64 "AAE="
//	exit STATUS, exit any         the server ends, with that exit status
//	gone                          the process whose id is the body ends
//
// These are for the level sessions:
//
//	client NAME                   the steps are about this client from now on. If it has no
//	                              connection, one is opened: its first, or another after cut,
//	                              or after exit has seen the end of the last. The first client
//	                              is A, unless the first step names it
//	client NAME uninitialized     the same, and the runner does not initialize the connection
//	cut                           kills the process of the client's connection
//
// Each connection is a process of [Config].Connect. The runner initializes it, unless the next step is initialize.
// Variables belong to the session file; ids, the place of expect and the replies to the client, and so does the place of
// output, which goes on over its connections. count and never mean all connections of the client.
//
// These examine the whole session, at its end:
//
//	never                         no later message matches the body (after the last match of the
//	                              previous expect without a label)
//	never until NAME              no message before the answer to NAME matches
//	count N                       exactly N messages of the session match
//
// # Invariants of every session
//
// Every message is validated against the schema files, in both directions: envelope, params, result, error (its
// code by its kind, its data by its kind, and that the method may fail with it). And:
//
//   - stdout carries only messages, in the framing that the client uses;
//   - each request is answered once, with its id in the same spelling;
//   - handles and seq count from 1 without gaps, and nothing comes after job/closed;
//   - job/started is the first event of a job and comes before the answer to its start;
//   - no event comes without a request for it: by options.events, by the start, or by
//     job/subscribe and job/unsubscribe from their answers on; job/started, job/exited,
//     job/closed and all output come if they were requested;
//   - the offsets of a stream are contiguous, except for a reported gap, and except after a
//     job/subscribe that begins output anew, which restart reports; bytes is the number of bytes;
//   - no UTF-8 character is split between chunks, and base64 is used only for bytes that are not
//     text, or on request;
//   - job/read returns the same bytes as job/output;
//   - a client that acknowledges gets at most limits.windowBytes of a stream beyond its
//     acknowledged offset; at the end only output that waits for an acknowledgement is missing;
//   - job/patternMatched, job/commandFinished and job/screenChanged come after the output that they
//     refer to, job/exited after all output that is not late, job/closed after all output, as far
//     as any answer has reported it;
//   - job/commandFinished comes once for each command, before job/exited; all messages report the
//     same of a finished command;
//   - the revision in job/screenChanged grows;
//   - the end of a wait for input is reported before the next wait, and before job/exited; an ended
//     waitId does not come again; an open wait is reported again only if its state or confidence
//     has changed; if the condition input ends a wait, waitingForInput is present and satisfies the
//     condition; only job/get (with why) and the event of an end (with its waitId) report
//     waiting: false, without the other members of a wait;
//   - matches of a watch do not overlap; job/stateChanged contains the members that it names, and
//     no others;
//   - a job's pid and exit are the same in every message; an exit is reported once the job has
//     ended, with a limit if a limit is the reason; the index of an outcome is that of a condition
//     with the reason's name;
//   - no two open requests of the server have the same id, and it cancels only requests that it
//     has sent, each at most once;
//   - text of at least 6 bytes that is written or set with secret, or answered to client/secret,
//     appears neither in an error, nor in log/message or on stderr, nor in an answer to env/get and
//     the like;
//   - in the level sessions: nothing comes before the answer to initialize, nothing after session/replaced; the
//     number n of an event is the same on every connection, grows, and leaves out no event that another client was
//     sent and this one wants; handles count over all clients; output of one job at one offset is the same bytes for
//     all; when the file ends, nothing is left of the session, which ends by session/end or by its lease;
//   - the server ends after its stdin is closed, in time, with 0 if shutdown was answered and 1 if
//     not; by then every job's job/closed has come, and no process of a job is left.
//
// # Verdicts
//
// pass; fail, with the step, the expected and the actual value, and the transcript; skip, with the missing
// requirement; error, if the session's file is wrong or the server cannot be started; known, a failure that is in
// the baseline. After each session the runner kills the server's process group and, on Linux, every other process
// that the server left behind.
//
// # Coverage of the sessions
//
// The tests compare the sessions with the schema files: each method must be sent, each event awaited, each kind
// of error provoked, each member and word sent or checked; testdata/uncovered.txt lists the exceptions with a
// reason. testdata/sentences.txt does the same for the strict sentences of docs/protocol.md. An addition to the
// protocol needs a session, or a row.
package conformance
