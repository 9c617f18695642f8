package schema

import (
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
)

//go:generate go run ./gen

//go:embed json/*.schema.json
var embedded embed.FS

// base is the URL by which the files refer to each other, and which their $id shows to other readers.
const base = "https://shelld.dev/schema/1/"

const suffix = ".schema.json"

// Files returns the schema files, as NAME.schema.json at the root.
func Files() fs.FS {
	sub, err := fs.Sub(embedded, "json")
	if err != nil {
		panic(err) // "json" is a valid path; nothing else can fail.
	}
	return sub
}

// File returns the schema file whose $id ends in name + ".schema.json", such as "job-start" or "common". If there is no
// such file, the error has the name and wraps fs.ErrNotExist.
func File(name string) ([]byte, error) {
	data, err := embedded.ReadFile("json/" + name + suffix)
	if err != nil {
		return nil, fmt.Errorf("schema: no schema file %q: %w", name, fs.ErrNotExist)
	}
	return data, nil
}

// fileName returns the name of a method's schema file: "job/start" is in "job-start", "$/cancelRequest" in
// "cancelRequest".
func fileName(method string) string {
	return strings.ReplaceAll(strings.TrimPrefix(method, "$/"), "/", "-")
}

// document is a schema file as plain JSON values.
type document = map[string]any

// documents returns every schema file by its URL, with the file's name in each $ref. Parsing them takes a few
// milliseconds, so it is done at the first use.
var documents = sync.OnceValue(func() map[string]document {
	names, err := fs.Glob(embedded, "json/*"+suffix)
	if err != nil {
		panic(err) // Only a bad pattern can fail.
	}
	docs := make(map[string]document, len(names))
	for _, name := range names {
		data, err := embedded.ReadFile(name)
		if err != nil {
			panic(err) // Embedded a moment ago.
		}
		value, err := decode(data)
		if err != nil {
			panic(fmt.Sprintf("schema: %s: %v", name, err)) // TestFiles reads them all.
		}
		name = strings.TrimPrefix(name, "json/")
		nameRefs(value, name)
		docs[base+name] = value.(document)
	}
	return docs
})

// nameRefs puts the file's own name into the $refs within the file, so that they can be followed without knowing the
// file.
func nameRefs(value any, file string) {
	switch v := value.(type) {
	case document:
		if ref, ok := v["$ref"].(string); ok && strings.HasPrefix(ref, "#") {
			v["$ref"] = file + ref
		}
		for _, member := range v {
			nameRefs(member, file)
		}
	case []any:
		for _, item := range v {
			nameRefs(item, file)
		}
	}
}

// Method is one method of the protocol.
type Method struct {
	Name  string // as on the wire, such as "job/start"
	Kind  string // "request" or "notification"
	From  string // the sending side: "client", "server" or "both"
	Level string // the protocol's level to which it belongs, such as "core"

	HasParams bool // whether its schema describes params
	HasResult bool // whether its schema describes a result; always true of a request

	// Errors holds the kinds of error with which a request of this method may be answered, besides those that do not
	// depend on the method.
	Errors []string
}

// Methods returns every method that has a schema, sorted by name.
func Methods() []Method {
	return slices.Clone(methodTable)
}

// methodNamed returns a method by its name on the wire.
func methodNamed(name string) (Method, bool) {
	i, found := slices.BinarySearchFunc(methodTable, name, func(m Method, name string) int {
		return strings.Compare(m.Name, name)
	})
	if !found {
		return Method{}, false
	}
	return methodTable[i], true
}

// ErrorKind is a kind of error: its stable name and its number on the wire.
type ErrorKind struct {
	Kind string
	Code int
}

// ErrorKinds returns every kind of error in the order of the protocol: those of
// JSON-RPC first, then the protocol's own from -32010 downwards.
func ErrorKinds() []ErrorKind {
	return slices.Clone(kindTable)
}

// stringsOf returns the strings in a JSON array; nil if value is not an array.
func stringsOf(value any) []string {
	items, _ := value.([]any)
	var list []string
	for _, item := range items {
		if s, ok := item.(string); ok {
			list = append(list, s)
		}
	}
	return list
}

// MayAnswer reports whether a request of a method may be answered with a kind of error. The method "" stands for a
// message that could not be read, which is answered with id null. For a method that does not exist or is not a request,
// the kinds are those for an unknown method.
func MayAnswer(method, kind string) bool {
	about := documents()[base+"errors"+suffix]["x-shelld"].(document)
	listed := func(name string) bool { return slices.Contains(stringsOf(about[name]), kind) }
	m, known := methodNamed(method)
	switch {
	case method == "":
		return listed("unreadable")
	case !known || m.Kind != "request":
		return listed("anyRequest") || listed("unknownMethod")
	}
	return listed("anyRequest") || slices.Contains(m.Errors, kind)
}
