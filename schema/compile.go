package schema

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// This is the only file that uses the validator's library. It returns failures, which explain.go turns into messages.

// compiled caches the compiled definitions by name ("job-start#/$defs/params"). A definition is compiled when it is
// first used, since a server that ends after one request should not pay for all of them.
var compiled struct {
	schemas  sync.Map   // string -> *jsonschema.Schema
	mu       sync.Mutex // guards compiler, which is not safe for concurrent use
	compiler *jsonschema.Compiler
}

// schemaFor returns the compiled definition, such as "job-start#/$defs/params".
func schemaFor(definition string) (*jsonschema.Schema, error) {
	if s, ok := compiled.schemas.Load(definition); ok {
		return s.(*jsonschema.Schema), nil
	}
	compiled.mu.Lock()
	defer compiled.mu.Unlock()
	if compiled.compiler == nil {
		compiled.compiler = newCompiler()
	}
	name, fragment, _ := strings.Cut(definition, "#")
	s, err := compiled.compiler.Compile(base + name + suffix + "#" + fragment)
	if err != nil {
		return nil, fmt.Errorf("schema: compile %s: %w", definition, err)
	}
	compiled.schemas.Store(definition, s)
	return s, nil
}

// newCompiler returns a compiler that knows only the embedded files: the library's own loader would read any file that
// a $ref names.
func newCompiler() *jsonschema.Compiler {
	c := jsonschema.NewCompiler()
	c.Draft = jsonschema.Draft2020
	c.LoadURL = func(url string) (io.ReadCloser, error) {
		name, ok := strings.CutPrefix(url, base)
		if !ok {
			return nil, fmt.Errorf("schema: %s is not one of %s*: %w", url, base, fs.ErrNotExist)
		}
		data, err := File(strings.TrimSuffix(name, suffix))
		if err != nil {
			return nil, err
		}
		return io.NopCloser(bytes.NewReader(data)), nil
	}
	return c
}

// failure is one node of the validator's result. A node without causes is a mistake in itself.
type failure struct {
	keyword  string // URL and JSON pointer of the schema's keyword that failed
	path     string // how the validator reached it, through $refs
	instance string // pointer to the value; each token percent-encoded
	causes   []failure
}

// check checks a value, as decode returns it, against a definition. ok is false if the value does not fit; then f holds
// the reasons. err is an error in the schema files.
func check(definition string, value any) (f failure, ok bool, err error) {
	if r := ruleFor(definition); r != nil && r.fits(value) {
		return failure{}, true, nil
	}
	s, err := schemaFor(definition)
	if err != nil {
		return failure{}, false, err
	}
	err = s.Validate(value)
	if err == nil {
		return failure{}, true, nil
	}
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return failure{}, false, fmt.Errorf("schema: validate against %s: %w", definition, err)
	}
	return failureOf(invalid), false, nil
}

// failureOf copies the library's tree. Its depth is that of the schema, which does not refer to itself, whatever the
// depth of the value.
func failureOf(e *jsonschema.ValidationError) failure {
	f := failure{
		keyword:  e.AbsoluteKeywordLocation,
		path:     e.KeywordLocation,
		instance: e.InstanceLocation,
		causes:   make([]failure, 0, len(e.Causes)),
	}
	for _, cause := range e.Causes {
		f.causes = append(f.causes, failureOf(cause))
	}
	return f
}
