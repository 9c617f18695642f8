// Package conformance holds a server of the Shell Server Protocol against session files:
// what a client sends, and what must come back. It shares no code with any server. The
// contract is read from the protocol's schema files, and the server is a command that is
// started afresh for each session and spoken to over its stdin and stdout.
//
// [Run] plays one [Session], [RunAll] plays many, a [Report] tells of the [Result]s. Package
// record writes sessions. The command is "shelld conformance".
//
// # Session files
//
// A session is a text file in the txtar format: a preamble, then sections, each headed by
// a line "-- words --". A section is one step; the words are its verb and what belongs to
// it, the lines below are its body. Steps are done one after the other. A word, a member,
// a variable that is not known is an error that names file, line and column.
//
//	A job's exit is told once, after all that it wrote.
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
// Prose that says what is shown, then keys, each on a line of its own:
//
//	protocol: SENTENCE    the sentence of the protocol that the session stands on
//	level: LEVEL          core (the default), trees, terminal, store, policy
//	needs: KIND NAME, …   what a server or machine may lack; then the session is skipped.
//	                      May come several times. From the server's capabilities: mode,
//	                      method, event, condition, signal, key, encoding, query, readFormat,
//	                      waitFormat, shellIntegration (a shell's family), limit,
//	                      inputDetection (this tier or a better one), capability (a member
//	                      that is true). From the machine: platform (as Go calls it: linux,
//	                      darwin), program (on PATH)
//	lacks: KIND NAME, …   what a server must not have; one that has it is skipped. Of the
//	                      server's capabilities alone
//	framing: FRAMING      header, line, or both (the default: the session is run in each)
//	args: WORDS           arguments that the server gets behind its command
//	initialize: no        the runner does not initialize the server
//
// The methods of the send steps, and the modes of the jobs that they start, are needs
// without being listed. A server whose capabilities say that it has nothing of the level is not asked further; one that claims
// all of it fails where it lacks a method, event or condition.
//
// Unless the preamble says no, the runner sends initialize with {} before the first step,
// awaits its result, and sends initialized. Where the first step is initialize, its body
// has the params and, behind a line "=>", a pattern for the result.
//
// # Values
//
// Values are JSON, with these additions. Members' names need no quotes where they are
// words; a comma may follow the last element; // begins a comment.
//
//	$name           the variable's value. In what is expected: bound to what is there if
//	                it has no value yet, otherwise it must be equal
//	$name:int       the same, and it must be of that kind
//	$name + 5       an integer more; also - 5
//	"pid ${pid}"    a variable in a string; $${ stands for ${ itself
//	@repeat 9 "x"   a string so many times
//
// Only where something is expected:
//
//	@any @int @number @string @bool @null @array @object    any value of that kind
//	@time           a date of RFC 3339
//	@nonempty       a string, array or object that is not empty
//	@absent         no such member
//	~"regex"        a string in which it is found (Go's syntax); ~`regex` needs no doubled
//	                backslashes
//	>= 3  <= 3  > 3  < 3    a number on that side
//	@len 3          a string, array or object of so many characters, elements, members; the
//	                number may be a pattern: @len >= 3
//	{…}             an object with at least these members
//	@exactly {…}    one with these members alone
//	[a, ..., b]     an array; ... stands for any number of elements
//	@unordered […]  an array with these elements in any order; with ... in it, and others.
//	                Each takes the first element that fits it
//
// A pattern binds its variables only where all of it fits.
//
// # Steps that send
//
//	send NAME                     a request: the method, then params. NAME is what later
//	                              steps call it. A line "id: 7" between them chooses the id,
//	                              as it is spelled; otherwise the runner counts
//	send NAME invalid             one whose params, or method, the schema must refuse
//	send NAME unanswered          one whose id the server cannot read, since the message is
//	                              too long: it is never answered
//	notify, notify invalid        a notification: the method, then params
//	frame [NAME=ID]…              the body is sent as one message of the framing, unchecked.
//	                              NAME=ID names a request that is in it: frame twin=7
//	raw [NAME=ID]…                the body's bytes are sent without any framing; its lines are
//	                              joined, and \n \r \t \\ \xHH \uHHHH stand for characters
//	reply METHOD                  from here on the server's requests of that method whose
//	                              params fit the pattern are answered with the value behind
//	                              the line "=>". Requests that no reply fits are refused
//	reply METHOD unanswered       those that fit the pattern are not answered
//	let NAME                      gives a variable a value
//	close stdin                   closes the server's stdin
//	stall, resume                 stops and goes on reading the server's stdout
//	signal NAME                   sends TERM, INT, HUP, KILL, STOP or CONT to the server
//
// Params are held against the schema before they are sent: a session whose message does
// not fit is wrong, unless it says invalid.
//
// # Steps that await
//
// Each of these takes "within 5s" as its last words; the default is 20 s. A time bounds
// how long nothing may come. It never stands for a fact. What cannot come any more, since the job
// is closed or the answer came before, is not waited for.
//
//	answer NAME                   the result of a request; the body is a pattern or empty
//	error NAME                    its error; the pattern sees code and message, and beside
//	                              them the members of data: {kind: "jobExited", handle: $h}
//	error null                    an error with id null. Each must have such a step
//	error NAME or null            either: a server need not be able to read the id
//	expect                        messages of the server in this order, with anything between
//	                              them: a method and a pattern for its params, or "answer NAME",
//	                              "error NAME" and a pattern. It begins behind what the last
//	                              expect has matched. A line "id: $x" behind the method is for the
//	                              id of a request of the server
//	expect unordered              the same, in any order
//	expect next                   the same, and nothing else of the same job between them
//	expect … of LABEL             begins behind what the last expect of that label has matched, or
//	                              at the beginning: what comes of one source needs no order with
//	                              what comes of another
//	output HANDLE [STREAM]        the text comes next in the job's output, however it is cut
//	                              into chunks: behind what the last output step of the stream
//	                              was satisfied with. Strings that follow each other are
//	                              joined; a regex is found anywhere behind that place
//	output … contains             the text comes somewhere behind that place
//	output … ends                 the text comes next, and nothing more until job/closed
//	output … from OFFSET          counted from there
//	bytes HANDLE STREAM           bytes by their offset: lines of 0: "text" or 5: base64 "AAE="
//	exit STATUS, exit any         the server ends, with that exit status
//	gone                          the process whose id is the body does not exist any more
//
// These look at the whole session, at its end:
//
//	never                         no message as in the body comes from here on (behind what the
//	                              last expect matched)
//	never until NAME              none comes before the answer to NAME
//	count N                       as many came in the session
//
// # What holds in every session
//
// Every message is held against the schema files, both ways: envelope, params, result,
// error (its code by its kind, data by its kind, and that the method may fail so). And:
//
//   - nothing but messages is on stdout, in the framing that the client speaks;
//   - each request is answered once, with its id as it was spelled;
//   - handles and seq count from 1 without gaps, and nothing comes after job/closed;
//   - job/started is the first event of a job and comes before the answer to its start;
//   - no event comes that was not asked for, by options.events, by the start, or by
//     job/subscribe and job/unsubscribe from their answers on; job/started, job/exited and
//     job/closed come where they were asked for, and all output does;
//   - offsets of a stream join up, but for a gap that is told, and where job/subscribe makes
//     output begin anew, which restart tells; bytes is the number of bytes;
//   - no character of UTF-8 is cut by a chunk, and base64 is only where text cannot be, or
//     where it was asked for;
//   - job/read gives the bytes that job/output gives;
//   - job/patternMatched comes after the output that it speaks of, job/exited after all that
//     is not late, job/closed after all of it, as far as any answer has told of it;
//   - matches of a watch do not overlap; what job/stateChanged names is there, and no more;
//   - a job's pid and exit are the same wherever they are told, and an exit is told where the
//     job has ended, with a limit where that is the reason; the index of an outcome is that of a condition with the reason's name;
//   - no two requests of the server's that are open have one id, and it takes back only what it
//     has sent, once;
//   - what is written or set with secret, or answered to client/secret, is neither in an error, nor
//     in log/message or on stderr, nor in an answer to env/get and its like;
//   - the server ends once its stdin has, in time, with 0 if shutdown was answered and 1 if
//     not; every job's job/closed has come then, and no job's command is left.
//
// # Verdicts
//
// pass; fail, with the step, what was expected and what came, and the transcript; skip,
// with what is lacking; error, where the session's file is wrong or the server cannot be
// started; known, a failure that is in the baseline. The server's process group, and on
// Linux whatever else it left, is gone after each session.
//
// # What the sessions show
//
// The tests hold the sessions against the schema files: each method is sent, each event
// awaited, each kind of error made to come, each member and word sent or looked at, or
// testdata/uncovered.txt says why not. testdata/sentences.txt does the same for the strict
// sentences of docs/protocol.md. Whoever adds to the protocol adds a session, or a row.
package conformance
