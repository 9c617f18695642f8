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
}

// requests is THE table of the requests that a client can send. The schema of each has the same name; a test checks
// that both lists are the same.
func requests() []method {
	return []method{
		{"initialize", (*Server).initialize},
		{"shutdown", (*Server).shutdown},
		{"job/start", (*Server).jobStart},
		{"job/run", (*Server).jobRun},
		{"job/write", (*Server).jobWrite},
		{"job/read", (*Server).jobRead},
		{"job/search", (*Server).jobSearch},
		{"job/wait", (*Server).jobWait},
		{"job/exec", (*Server).jobExec},
		{"job/history", (*Server).jobHistory},
		{"job/screen", (*Server).jobScreen},
		{"job/list", (*Server).jobList},
		{"job/get", (*Server).jobGet},
		{"job/kill", (*Server).jobKill},
		{"job/signal", (*Server).jobSignal},
		{"job/resize", (*Server).jobResize},
		{"job/watch", (*Server).jobWatch},
		{"job/unwatch", (*Server).jobUnwatch},
		{"job/remove", (*Server).jobRemove},
		{"job/subscribe", (*Server).jobSubscribe},
		{"job/unsubscribe", (*Server).jobUnsubscribe},
		{"platform/get", (*Server).platformGet},
		{"env/get", (*Server).envGet},
		{"env/set", (*Server).envSet},
		{"env/unset", (*Server).envUnset},
		{"env/list", (*Server).envList},
		{"server/stats", (*Server).serverStats},
	}
}

// notifications is the same for a client's notifications. Unknown ones are ignored.
var notifications = map[string]func(*Server, []byte){
	"initialized":     func(*Server, []byte) {},
	"exit":            func(s *Server, _ []byte) { s.stream.quit = true },
	"$/cancelRequest": (*Server).cancel,
	"job/ack":         (*Server).jobAck,
}

// lookup returns a method. Its error names the nearest existing one, or says that the name is that of a notification.
func lookup(name string) (*method, error) {
	table := requests()
	i := slices.IndexFunc(table, func(m method) bool { return m.name == name })
	if i >= 0 {
		return &table[i], nil
	}
	names := make([]string, len(table))
	for i, m := range table {
		names[i] = m.name
	}
	data := schema.MethodNotFoundData{Kind: string(schema.KindMethodNotFound), Method: clip(name, 200)}
	if _, told := notifications[name]; told {
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
