package main

import (
	"encoding/json"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// The requests in flight are limited by bytes as well as by number: an answer may be long. It waits in this process for
// a host that reads slowly, and before that in the engine's outbox, which fails above 64 MiB. So each request has a
// weight, the maximum size of the engine's answer, which is released after the answer has been written to stdout.
//
// A waiting request, which may take long, is refused if there is no room: it would have to wait for requests that
// themselves wait for something. A looking request is held until there is room, which is soon if the host reads.

const (
	// waitingRoom is the maximum weight of waiting requests in flight, and lookingRoom that of looking ones. Together
	// with one longestAnswer they leave some room in the outbox for notifications.
	waitingRoom = 28 << 20
	lookingRoom = 12 << 20
	// longestAnswer is the maximum size of a message from the engine, such as a list of many jobs.
	longestAnswer = 16 << 20
	// plainWeight is the size of an answer without the texts whose length the request sets.
	plainWeight = 8 << 10
	// listWeight is the size of a list of jobs, estimated generously; also of a picture.
	listWeight = 1 << 20
	// mostText is the engine's limit for a text, whatever the request asks for.
	mostText = 1 << 20
)

// A share is one of the two groups of requests, each with its own limit.
type share int

const (
	unweighed share = iota // counts only by number
	waiting
	looking
)

// A load is the weight of a request, and its group.
type load struct {
	share share
	bytes int
}

// A toolWeight describes the maximum size of a tool's answer.
type toolWeight struct {
	looks   bool
	param   string // parameter with the length of the text
	text    int    // length without that parameter
	factor  int    // bytes in JSON per byte of text; an escaped quote takes two
	further int    // size of everything else
}

// rawFactor is for texts whose length is counted before decoding, in which invalid bytes become U+FFFD and cursor
// movements become spaces.
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
	// runOutput is the maximum that the server keeps of each stream of a command in job/run.
	runOutput = 64 << 10
	// screenBytes is the size of a screen full of long characters.
	screenBytes = 32 << 10
)

// weigh returns the weight of a request of size bytes. A request for an unknown tool or method gets a short answer.
func weigh(req *jsonrpc.Request, size int) load {
	l := load{looking, plainWeight + size}
	switch req.Method {
	case "initialize", "ping", "logging/setLevel", "server/discover":
		if size <= plainWeight {
			return load{} // These show that the server is alive, so they are answered even if there is no room.
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

// weighResource returns the maximum size of a resource. The engine's answer has all streams of a job.
func weighResource(params json.RawMessage) int {
	var p struct{ URI string }
	_ = json.Unmarshal(params, &p) // The SDK rejects invalid parameters.
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

// A ballast is the weight in flight of each group. It has no lock of its own.
type ballast [looking + 1]int

// rooms contains the limit of each group.
var rooms = ballast{waiting: waitingRoom, looking: lookingRoom}

// take adds a load if there is room. A load above the limit fits if it is alone.
func (b *ballast) take(l load) bool {
	if l.share != unweighed && b[l.share] > 0 && b[l.share]+l.bytes > rooms[l.share] {
		return false
	}
	b[l.share] += l.bytes
	return true
}

func (b *ballast) give(l load) { b[l.share] -= l.bytes }
