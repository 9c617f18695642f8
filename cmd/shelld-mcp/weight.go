package main

import (
	"encoding/json"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// What is in flight is bounded by bytes as well as by number: an answer may be long, it waits
// in this process for a host that reads slowly, and on its way here in the outbox of the
// engine, which breaks at 64 MiB. So each request weighs what its answer may hold as the
// engine sends it, and the weight is given back when stdout has the answer.
//
// A request that may take its time is refused where there is no room for it: it would have to
// wait for others that wait for something. One that only looks is held back, which is not for
// long as long as the host reads.

const (
	// waitingRoom is what may be in flight of requests that wait, and lookingRoom of those
	// that look. With one longestAnswer they leave the outbox some room for what is not asked for.
	waitingRoom = 28 << 20
	lookingRoom = 12 << 20
	// longestAnswer is the longest message of the engine's, as a list of many jobs may be.
	longestAnswer = 16 << 20
	// plainWeight is what an answer has beside texts whose length is asked for.
	plainWeight = 8 << 10
	// listWeight is that of a list of jobs, with much room; of a picture, too.
	listWeight = 1 << 20
	// mostText is the longest text of the engine's, whatever is asked for.
	mostText = 1 << 20
)

// A share is one of the two rooms.
type share int

const (
	unweighed share = iota // nothing of it is bounded but the number
	waiting
	looking
)

// A load is what a request weighs, and in which room.
type load struct {
	share share
	bytes int
}

// A toolWeight is what an answer of a tool may hold.
type toolWeight struct {
	looks   bool
	param   string // says how long a text may be
	text    int    // how long it is without
	factor  int    // bytes on the wire for one of text; a quote takes two
	further int    // what comes on top
}

// rawFactor is for texts whose length counts before what is no text becomes U+FFFD, and
// movements of the cursor blanks.
const rawFactor = 4

var toolWeights = map[string]toolWeight{
	"run_shell_command":    {param: "max_output_size", text: defaultOutput, factor: 2},
	"send_input":           {text: defaultOutput, factor: 2},
	"jobs":                 {looks: true, further: listWeight},
	"kill":                 {},
	"read_shell":           {looks: true, text: screenBytes, factor: 2},
	"write_to_shell":       {text: screenBytes, factor: 2},
	"execute_bash_command": {text: 2 * runOutput, factor: 2},
	"CliGetPlatform":       {looks: true},
	"CliRun":               {text: 2 * runOutput, factor: 2},
	"CliSession":           {text: maxSessionOutput, factor: 2},
	"CliRead":              {param: "maxBytes", text: maxSessionOutput, factor: rawFactor},
	"CliWrite":             {text: maxSessionOutput, factor: 2},
	"CliStop":              {text: maxSessionOutput, factor: 2},
	"CliEnv":               {text: 128 << 10, factor: 2},
	"shell":                {param: "max_bytes", text: defaultOutput, factor: 2},
	"shell_output":         {looks: true, param: "max_bytes", text: defaultOutput, factor: rawFactor},
	"shell_jobs":           {looks: true, further: listWeight},
	"shell_end":            {text: defaultOutput, factor: 2},
}

const (
	// runOutput is what the server keeps of each stream of a command that it runs to its end.
	runOutput = 64 << 10
	// screenBytes is a screen that is full of long characters.
	screenBytes = 32 << 10
)

// weigh says what a request of size bytes weighs. What names no tool, or nothing that there
// is, gets a short answer.
func weigh(req *jsonrpc.Request, size int) load {
	l := load{looking, plainWeight + size}
	switch req.Method {
	case "initialize", "ping", "logging/setLevel", "server/discover":
		if size <= plainWeight {
			return load{} // These say that all is well, also where nothing else goes on.
		}
	case "subscriptions/listen":
		l.share = waiting
	case "tools/list":
		l.bytes += 128 << 10
	case "resources/list":
		l.bytes += listWeight
	case "resources/read":
		l.bytes += weighResource(req.Params)
	case "tools/call":
		weighCall(&l, req.Params)
	}
	return l
}

// weighResource is for what a resource may hold. The engine answers with all streams of a job.
func weighResource(params json.RawMessage) int {
	var p struct{ URI string }
	_ = json.Unmarshal(params, &p) // What does not fit is refused by the SDK.
	switch p.URI[strings.LastIndexByte(p.URI, '/')+1:] {
	case "screen":
		return 2 * screenBytes
	case "screen.png":
		return listWeight
	case "info":
		return longestAnswer
	}
	return 2 * 2 * maxResource
}

func weighCall(l *load, params json.RawMessage) {
	var p struct {
		Name      string
		Arguments map[string]any
	}
	_ = json.Unmarshal(params, &p) // As above.
	w := toolWeights[p.Name]
	if !w.looks {
		l.share = waiting
	}
	text := w.text
	if n, ok := p.Arguments[w.param].(float64); ok {
		text = int(min(max(n, 0), mostText))
	}
	l.bytes += w.factor*text + w.further
	switch screen := p.Arguments["screen"]; {
	case p.Name == "shell" && screen == "text":
		l.bytes += 2 * screenBytes
	case p.Name == "shell" && screen == "picture":
		l.bytes += 2*screenBytes + listWeight
	}
}

// A ballast is what is in flight, by shares. It has no lock of its own.
type ballast [looking + 1]int

// rooms are what each share may have.
var rooms = ballast{waiting: waitingRoom, looking: lookingRoom}

// take takes a load in, if there is room for it. One that is too heavy by itself is alone.
func (b *ballast) take(l load) bool {
	if l.share != unweighed && b[l.share] > 0 && b[l.share]+l.bytes > rooms[l.share] {
		return false
	}
	b[l.share] += l.bytes
	return true
}

func (b *ballast) give(l load) { b[l.share] -= l.bytes }
