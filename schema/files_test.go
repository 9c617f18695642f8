package schema

import (
	"encoding/json"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"
)

// eachNode calls f for a schema and each schema in it. path is for messages.
func eachNode(path string, node document, f func(path string, node document)) {
	f(path, node)
	for _, keyword := range []string{"properties", "dependentSchemas", "$defs"} {
		members, _ := node[keyword].(document)
		for name, member := range members {
			eachNode(path+"/"+keyword+"/"+name, member.(document), f)
		}
	}
	for _, keyword := range []string{"items", "additionalProperties", "propertyNames", "not"} {
		if member, ok := node[keyword].(document); ok {
			eachNode(path+"/"+keyword, member, f)
		}
	}
	for _, keyword := range []string{"oneOf", "anyOf", "allOf", "prefixItems"} {
		items, _ := node[keyword].([]any)
		for _, item := range items {
			eachNode(path+"/"+keyword, item.(document), f)
		}
	}
}

// keywords are those that the files may use. Each is one that explain knows, that checks nothing, or that a schema may
// not have alone.
var keywords = []string{
	"$comment", "$defs", "$id", "$ref", "$schema", "additionalProperties", "allOf", "const",
	"contentEncoding", "default", "dependentRequired", "dependentSchemas", "description", "enum",
	"format", "items", "maxItems", "maxLength", "maxProperties", "maximum", "minItems", "minLength",
	"minProperties", "minimum", "not", "oneOf", "pattern", "prefixItems", "properties",
	"propertyNames", "required", "title", "type", "x-exactlyOne", "x-expected", "x-shelld",
}

func TestFiles(t *testing.T) {
	names, err := fs.Glob(Files(), "*")
	if err != nil {
		t.Fatal(err)
	}
	if len(names) != len(documents()) || len(names) < 20 {
		t.Fatalf("Files has %d files, %d of them are read", len(names), len(documents()))
	}
	for _, file := range names {
		doc := documents()[base+file]
		if got := doc["$id"]; got != base+file {
			t.Errorf("%s: $id is %v, want %s", file, got, base+file)
		}
		if got := doc["$schema"]; got != "https://json-schema.org/draft/2020-12/schema" {
			t.Errorf("%s: $schema is %v, want draft 2020-12", file, got)
		}
		for _, member := range []string{"title", "description"} {
			if text, _ := doc[member].(string); text == "" {
				t.Errorf("%s: there is no %s", file, member)
			}
		}
		eachNode(file, doc, func(path string, node document) { checkNode(t, path, node) })
	}
}

// checkNode checks the requirements for every schema in the files.
func checkNode(t *testing.T, path string, node document) {
	for keyword := range node {
		if !slices.Contains(keywords, keyword) {
			t.Errorf("%s: keyword %s is not one that the files use", path, keyword)
		}
	}
	properties, _ := node["properties"].(document)
	for name, property := range properties {
		p := property.(document)
		where := path + "/properties/" + name
		if strings.Contains(path, "/oneOf") && p["description"] == nil {
			continue // A branch narrows properties that are described beside it.
		}
		if text, _ := resolve(p)["description"].(string); text == "" && p["description"] == nil {
			t.Errorf("%s: there is no description", where)
		}
		checkDefault(t, where, p)
	}
	for _, name := range stringsOf(node["required"]) {
		if properties != nil && properties[name] == nil {
			t.Errorf("%s: %s is required and not described", path, name)
		}
	}
	types, _ := node["type"].([]any)
	if node["type"] == "integer" || slices.Contains(types, any("integer")) {
		if node["minimum"] == nil || node["maximum"] == nil {
			t.Errorf("%s: an integer without bounds", path)
		}
	}
	if ref, ok := node["$ref"]; ok && resolve(node) == nil {
		t.Errorf("%s: $ref %v leads nowhere", path, ref)
	}
}

// checkDefault checks that a default is valid, and is also in the description.
func checkDefault(t *testing.T, path string, p document) {
	value, ok := p["default"]
	if !ok {
		return
	}
	text, _ := p["description"].(string)
	if _, words, found := strings.Cut(text, "Default"); !found {
		t.Errorf("%s: the description does not tell the default %v", path, value)
	} else if s := literal(value); s != `""` && !strings.Contains(words, strings.Trim(s, `"`)) {
		t.Errorf("%s: the description tells a default other than %s: %q", path, s, words)
	}
	if p["$ref"] != nil {
		if enum := stringsOf(resolve(p)["enum"]); enum != nil && !slices.Contains(enum, value.(string)) {
			t.Errorf("%s: the default %v is not allowed", path, value)
		}
	}
}

// open lists the objects that may have members without a schema. All others are closed, so that a misspelling is not
// silently accepted.
var open = []string{
	"initialize.schema.json/$defs/clientInfo", "initialize.schema.json/$defs/clientCapabilities",
	"initialize.schema.json/$defs/envOptions", "initialize.schema.json/$defs/loginOptions", "initialize.schema.json/$defs/limitOptions",
	"initialize.schema.json/$defs/persistOptions", "initialize.schema.json/$defs/confirmOptions", "initialize.schema.json/$defs/options", "initialize.schema.json/$defs/params",
	"initialize.schema.json/$defs/treeControl", "initialize.schema.json/$defs/inputDetection",
	"initialize.schema.json/$defs/screenCapabilities", "initialize.schema.json/$defs/capabilities", "initialize.schema.json/$defs/limitSupport",
	"initialize.schema.json/$defs/sessionParams", "initialize.schema.json/$defs/sessionLeaseOptions", "initialize.schema.json/$defs/sessionJobOptions",
	"initialize.schema.json/$defs/sessionResume", "initialize.schema.json/$defs/sessionSupport",
	"common.schema.json/$defs/meta",
	"envelope.schema.json/$defs/requestMessage", "envelope.schema.json/$defs/notificationMessage",
	"envelope.schema.json/$defs/successMessage/properties/result",
}

func TestClosedObjects(t *testing.T) {
	found := map[string]bool{}
	for url, doc := range documents() {
		eachNode(strings.TrimPrefix(url, base), doc, func(path string, node document) {
			if node["type"] == "object" && node["additionalProperties"] == nil {
				found[path] = true
				if !slices.Contains(open, path) {
					t.Errorf("%s is open to members that it does not name", path)
				}
			}
		})
	}
	for _, path := range open {
		if !found[path] {
			t.Errorf("%s is not open", path)
		}
	}
	// _meta may be used freely, in all params and results.
	for url, doc := range documents() {
		for _, name := range []string{"params", "result"} {
			if node, ok := lookUp(doc, []string{"$defs", name}).(document); ok {
				if lookUp(node, []string{"properties", "_meta", "$ref"}) != "common.schema.json#/$defs/meta" {
					t.Errorf("%s: %s has no _meta", url, name)
				}
			}
		}
	}
}

// TestCompiles compiles every definition of every file, and so checks each file against the rules of draft 2020-12.
func TestCompiles(t *testing.T) {
	for url, doc := range documents() {
		name := strings.TrimSuffix(strings.TrimPrefix(url, base), suffix)
		for definition := range doc["$defs"].(document) {
			if _, err := schemaFor(name + "#/$defs/" + definition); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestLoader checks that only the embedded files can be referred to.
func TestLoader(t *testing.T) {
	for _, url := range []string{"file:///etc/hostname", "https://example.com/x.json", base + "nothing" + suffix, base + "../files.go"} {
		if _, err := newCompiler().Compile(url); !errors.Is(err, fs.ErrNotExist) && !strings.Contains(err.Error(), "schema: ") {
			t.Errorf("compile %s: got error %v, want a refusal", url, err)
		}
	}
}

func TestFile(t *testing.T) {
	data, err := File("job-start")
	if err != nil {
		t.Fatal(err)
	}
	if !json.Valid(data) || !strings.Contains(string(data), base+"job-start"+suffix) {
		t.Errorf("File returned something else than the schema of job/start:\n%.200s", data)
	}
	for _, name := range []string{"", "job/start", "nothing", "../doc", "job-start.schema.json"} {
		if _, err := File(name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("File(%q): got error %v, want fs.ErrNotExist", name, err)
		}
	}
}

func TestMethods(t *testing.T) {
	const (
		fromClient = "initialize shutdown job/start job/run job/write job/read job/wait job/list job/get job/kill job/signal job/resize job/watch job/unwatch job/remove job/subscribe job/unsubscribe platform/get"
		policy     = "server/stats env/get env/list env/set env/unset"
		changed    = "job/screenChanged job/waitingForInput job/commandFinished"
		terminal   = "job/screen job/exec job/history"
		toldClient = "initialized exit $/cancelRequest job/ack"
		session    = "session/get session/set session/detach session/end job/set job/takeInput job/giveInput"
		toldAbout  = "job/inputChanged session/clientJoined session/clientLeft session/replaced"
		toldServer = "job/started job/output job/patternMatched job/watchRemoved job/stateChanged job/exited job/closed log/message"
	)
	want := map[string]Method{}
	for _, name := range strings.Fields(fromClient) {
		want[name] = Method{Name: name, Kind: "request", From: "client", Level: "core", HasParams: true, HasResult: true}
	}
	for _, name := range strings.Fields(policy) {
		want[name] = Method{Name: name, Kind: "request", From: "client", Level: "policy", HasParams: true, HasResult: true}
	}
	for _, name := range strings.Fields(terminal) {
		want[name] = Method{Name: name, Kind: "request", From: "client", Level: "terminal", HasParams: true, HasResult: true}
	}
	for _, name := range strings.Fields(changed) {
		want[name] = Method{Name: name, Kind: "notification", From: "server", Level: "terminal", HasParams: true}
	}
	for _, name := range strings.Fields(session) {
		want[name] = Method{Name: name, Kind: "request", From: "client", Level: "sessions", HasParams: true, HasResult: true}
	}
	for _, name := range strings.Fields(toldAbout) {
		want[name] = Method{Name: name, Kind: "notification", From: "server", Level: "sessions", HasParams: true}
	}
	for _, name := range []string{"$/ping", "$/pong"} {
		want[name] = Method{Name: name, Kind: "notification", From: "both", Level: "sessions", HasParams: true}
	}
	want["job/search"] = Method{Name: "job/search", Kind: "request", From: "client", Level: "store", HasParams: true, HasResult: true}
	for _, name := range strings.Fields(toldClient) {
		want[name] = Method{Name: name, Kind: "notification", From: "client", Level: "core", HasParams: true}
	}
	for _, name := range strings.Fields(toldServer) {
		want[name] = Method{Name: name, Kind: "notification", From: "server", Level: "core", HasParams: true}
	}
	want["job/waitingForInput"] = Method{Name: "job/waitingForInput", Kind: "notification", From: "server", Level: "terminal", HasParams: true}
	want["client/secret"] = Method{Name: "client/secret", Kind: "request", From: "server", Level: "terminal", HasParams: true, HasResult: true}
	want["client/confirm"] = Method{Name: "client/confirm", Kind: "request", From: "server", Level: "policy", HasParams: true, HasResult: true}
	want["$/cancelRequest"] = Method{Name: "$/cancelRequest", Kind: "notification", From: "both", Level: "core", HasParams: true}
	list := Methods()
	if len(list) != len(want) {
		t.Errorf("there are %d methods, want %d", len(list), len(want))
	}
	var kinds []string
	for _, k := range ErrorKinds() {
		kinds = append(kinds, k.Kind)
	}
	for _, m := range list {
		if m.Kind == "request" && len(m.Errors) == 0 {
			t.Errorf("%s: no error is named", m.Name)
		}
		for _, kind := range m.Errors {
			if !slices.Contains(kinds, kind) {
				t.Errorf("%s: there is no error kind %q", m.Name, kind)
			}
		}
		m.Errors = nil
		if w := want[m.Name]; m.Name != w.Name || m.Kind != w.Kind || m.From != w.From ||
			m.Level != w.Level || m.HasParams != w.HasParams || m.HasResult != w.HasResult {
			t.Errorf("%s is %+v, want %+v", m.Name, m, w)
		}
		if doc := documents()[base+fileName(m.Name)+suffix]; doc == nil || doc["title"] != m.Name {
			t.Errorf("%s is not in the file %s, or not its title", m.Name, fileName(m.Name))
		}
	}
	if !slices.IsSortedFunc(list, func(a, b Method) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("the methods are not sorted by name")
	}
}
