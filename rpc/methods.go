package rpc

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"shelld.dev/shelld/schema"
)

// A handler begins a request. It runs on the reading goroutine, in the order in which requests arrived, and must not
// block: it answers at once, or leaves the answer to a goroutine (request.await).
type handler func(*Server, *request) error

// A method is one row of the table.
type method struct {
	name   string
	handle handler
	views  bool // it changes nothing that others see: a viewer may call it
	keyed  bool // it takes a key, and is not done twice with the same one
	shared bool // only a session has it that clients come back to
}

// requests is THE table of the requests that a client can send. The schema of each has the same name; a test checks
// that both lists are the same.
func requests() []method {
	return []method{
		{name: "initialize", handle: (*Server).initialize, views: true},
		{name: "shutdown", handle: (*Server).shutdown, views: true},
		{name: "job/start", handle: (*Server).jobStart, keyed: true},
		{name: "job/run", handle: (*Server).jobRun, keyed: true},
		{name: "job/write", handle: (*Server).jobWrite, keyed: true},
		{name: "job/read", handle: (*Server).jobRead, views: true},
		{name: "job/search", handle: (*Server).jobSearch, views: true},
		{name: "job/wait", handle: (*Server).jobWait, views: true},
		{name: "job/exec", handle: (*Server).jobExec, keyed: true},
		{name: "job/history", handle: (*Server).jobHistory, views: true},
		{name: "job/screen", handle: (*Server).jobScreen, views: true},
		{name: "job/list", handle: (*Server).jobList, views: true},
		{name: "job/get", handle: (*Server).jobGet, views: true},
		{name: "job/kill", handle: (*Server).jobKill, keyed: true},
		{name: "job/signal", handle: (*Server).jobSignal, keyed: true},
		{name: "job/resize", handle: (*Server).jobResize, keyed: true},
		{name: "job/watch", handle: (*Server).jobWatch},
		{name: "job/unwatch", handle: (*Server).jobUnwatch},
		{name: "job/remove", handle: (*Server).jobRemove, keyed: true},
		{name: "job/subscribe", handle: (*Server).jobSubscribe, views: true},
		{name: "job/unsubscribe", handle: (*Server).jobUnsubscribe, views: true},
		{name: "platform/get", handle: (*Server).platformGet, views: true},
		{name: "env/get", handle: (*Server).envGet, views: true},
		{name: "env/set", handle: (*Server).envSet, keyed: true},
		{name: "env/unset", handle: (*Server).envUnset, keyed: true},
		{name: "env/list", handle: (*Server).envList, views: true},
		{name: "server/stats", handle: (*Server).serverStats, views: true},
		{name: "job/set", handle: (*Server).jobSet, shared: true},
		{name: "job/takeInput", handle: (*Server).jobTakeInput, shared: true},
		{name: "job/giveInput", handle: (*Server).jobGiveInput, shared: true},
		{name: "session/get", handle: (*Server).sessionGet, views: true, shared: true},
		{name: "session/set", handle: (*Server).sessionSet, views: true, shared: true},
		{name: "session/detach", handle: (*Server).sessionDetach, views: true, shared: true},
		{name: "session/end", handle: (*Server).sessionEnd, shared: true},
	}
}

// notifications is the same for a client's notifications. Unknown ones are ignored.
var notifications = map[string]func(*Server, []byte){
	"initialized":     func(*Server, []byte) {},
	"exit":            func(s *Server, _ []byte) { s.stream.quit = true },
	"$/cancelRequest": (*Server).cancel,
	"job/ack":         (*Server).jobAck,
	"$/ping":          (*Server).ping,
	"$/pong":          func(*Server, []byte) {},
}

// ofSessions are the notifications that only a session has that clients come back to.
var ofSessions = map[string]bool{"$/ping": true, "$/pong": true}

// lookup returns a method of a shared session, or of a server without one. Its error names the nearest existing one, or
// says that the name is that of a notification.
func lookup(name string, shared bool) (*method, error) {
	table := slices.DeleteFunc(requests(), func(m method) bool { return m.shared && !shared })
	i := slices.IndexFunc(table, func(m method) bool { return m.name == name })
	if i >= 0 {
		return &table[i], nil
	}
	names := make([]string, len(table))
	for i, m := range table {
		names[i] = m.name
	}
	data := schema.MethodNotFoundData{Kind: string(schema.KindMethodNotFound), Method: clip(name, 200)}
	if _, told := notifications[name]; told && (shared || !ofSessions[name]) {
		return nil, &wireError{schema.KindMethodNotFound, name + " is a notification: send it without an id", data}
	}
	msg := fmt.Sprintf("there is no method %q", clip(name, 200))
	if near := cmp.Or(methodMeant(name, names), schema.Nearest(name, names)); near != "" {
		data.DidYouMean = &near
		msg += "; did you mean \"" + near + "\"?"
	} else {
		msg += "; capabilities.methods of initialize lists the methods"
	}
	return nil, &wireError{schema.KindMethodNotFound, msg, data}
}

// methodWords maps the names that other APIs use to the methods of jobs.
var methodWords = map[string]string{
	"stop": "job/kill", "end": "job/kill", "close": "job/kill", "terminate": "job/kill", "destroy": "job/kill", "cancel": "job/kill",
	"send": "job/write", "input": "job/write", "type": "job/write", "sendinput": "job/write",
	"run": "job/run", "exec": "job/run", "execute": "job/run",
	"spawn": "job/start", "create": "job/start", "open": "job/start", "launch": "job/start",
	"output": "job/read", "tail": "job/read", "ps": "job/list", "ls": "job/list", "status": "job/get", "info": "job/get",
	"delete": "job/remove", "forget": "job/remove", "rm": "job/remove", "attach": "job/subscribe",
}

// methodMeant returns the method of jobs that a client means by another word, or by its name without job/; "" if none.
func methodMeant(name string, methods []string) string {
	word := strings.ToLower(name)
	for _, prefix := range []string{"job/", "jobs/"} {
		word = strings.TrimPrefix(word, prefix)
	}
	if method := methodWords[word]; method != "" {
		return method
	}
	if slices.Contains(methods, "job/"+word) {
		return "job/" + word
	}
	return ""
}

// clip cuts a client's own text, so that it cannot fill an answer.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xc0 == 0x80 {
		n--
	}
	return s[:n] + "…"
}
