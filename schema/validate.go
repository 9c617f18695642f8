package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// InvalidError is the error for a value that does not fit its schema.
type InvalidError struct {
	// Fields has at least one and at most maxFields elements, sorted by Pointer.
	Fields []FieldError
}

// Error returns all messages, each after its pointer, on one line.
func (e *InvalidError) Error() string {
	var b strings.Builder
	for i, f := range e.Fields {
		if i > 0 {
			b.WriteString("; ")
		}
		if f.Pointer != "" {
			b.WriteString(f.Pointer + ": ")
		}
		b.WriteString(f.Message)
	}
	return b.String()
}

// FieldError is one mistake in a value. It is the wire's fieldError, an element of errors in the data of invalidParams.
type FieldError struct {
	// Pointer is the JSON pointer (RFC 6901) to the mistake; "" is the whole value. For a missing member it leads to
	// the object that lacks it.
	Pointer string `json:"pointer"`
	// Message describes the mistake.
	Message string `json:"message"`
	// Expected is the expected value, Got the one that was found; "" if Message says everything.
	Expected string `json:"expected,omitempty"`
	Got      string `json:"got,omitempty"`
	// DidYouMean is the nearest name or value that is allowed; "" if none is near.
	DidYouMean string `json:"didYouMean,omitempty"`
	// Allowed holds the names or values that are allowed: all if they are few, otherwise the near ones; nil if that
	// does not apply.
	Allowed []string `json:"allowed,omitempty"`
}

// invalid returns an InvalidError of one field.
func invalid(pointer, message string) *InvalidError {
	return &InvalidError{Fields: []FieldError{{Pointer: pointer, Message: message}}}
}

// ValidateParams checks the params of a method, request or notification, of either side. Empty params, null and []
// count as {}. If the params do not fit, the error is an *InvalidError; if the method has no schema, it is another
// error.
func ValidateParams(method string, params []byte) error {
	_, err := validParams(method, params)
	return err
}

// DecodeParams checks the params of a method as ValidateParams does, and then stores them in the generated type to
// which into points. It accepts all spellings of integers: 80.0 and 8e1 are 80, as in JSON Schema, although
// encoding/json alone would refuse them.
func DecodeParams(method string, params []byte, into any) error {
	if p, ok := into.(*JobWriteParams); ok && method == "job/write" && plainWrite(params, p) {
		return nil
	}
	return decodeLong(method, params, into)
}

// decodeLong decodes the checked value, not the params a second time: encoding/json also accepts names in another case,
// and decodes both of two members with the same name, while the schemas have checked only exact names and the last of
// two.
func decodeLong(method string, params []byte, into any) error {
	value, err := validParams(method, params)
	if err != nil {
		return err
	}
	if method == "$/cancelRequest" { // The spelling of an id is kept, since answers echo it.
		return decodeChecked(method, params, into)
	}
	var u unknowns
	u.forget("", value, reflect.TypeOf(into))
	return store(method, value, into)
}

// store stores a checked value, without unknown members, in into.
func store(method string, value, into any) error {
	if fields, ok := value.(map[string]any); ok && len(fields) == 0 {
		return nil
	}
	params, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("schema: encode the params of %s: %w", method, err)
	}
	return decodeChecked(method, params, into)
}

func decodeChecked(method string, params []byte, into any) error {
	if err := json.Unmarshal(params, into); err != nil {
		return fmt.Errorf("schema: decode the params of %s: %w", method, err)
	}
	return nil
}

// validParams decodes and checks params.
func validParams(method string, params []byte) (value any, err error) {
	value, err = decodeParams(params)
	if err != nil {
		return nil, err
	}
	m, known := methodNamed(method)
	if !known || !m.HasParams {
		return nil, fmt.Errorf("schema: no schema for the params of %q", method)
	}
	if err := validate(fileName(method)+"#/$defs/params", value); err != nil {
		return nil, err
	}
	return value, nil
}

// ValidateResult checks the result of a request. If it does not fit, the error is an *InvalidError; if the method has
// no result, it is another error.
func ValidateResult(method string, result []byte) error {
	m, known := methodNamed(method)
	if !known || !m.HasResult {
		return fmt.Errorf("schema: no schema for the result of %q", method)
	}
	return validateJSON(fileName(method)+"#/$defs/result", result)
}

// ValidateStored checks the content of a stored info.json. If it does not fit, the error is an *InvalidError.
func ValidateStored(info []byte) error { return validateJSON("info#/$defs/storedInfo", info) }

// ValidateUnderstood checks a JobInfo as [ValidateStored] does, but accepts unknown words in place of the ones that the
// schema lists: another version has stored them. If it does not fit otherwise, the error is an *InvalidError.
func ValidateUnderstood(info []byte) error {
	const jobInfo = "common#/$defs/jobInfo"
	value, err := decode(info)
	if err != nil {
		return invalid("", err.Error())
	}
	f, ok, err := check(jobInfo, value)
	if err != nil || ok || f.isOfWords(value) {
		return err
	}
	return explain(f, value)
}

// isOfWords reports whether the only mistakes in a value are words, or names, that are not in the schema's list.
func (f failure) isOfWords(value any) bool {
	for _, cause := range f.causes {
		if !cause.isOfWords(value) {
			return false
		}
	}
	if len(f.causes) > 0 {
		return true
	}
	tokens := keywordTokens(f)
	if len(tokens) == 0 || tokens[len(tokens)-1] != "enum" {
		return false
	}
	switch v := lookUp(value, pointerTokens(f.instance)).(type) {
	case string:
		return v != ""
	case map[string]any: // the mistake is a name in this object
		return true
	}
	return false
}

// ValidateErrorObject checks the error member of an answer: its kind must be known, its code must be that of the kind,
// and its data must fit the kind. If it does not fit, the error is an *InvalidError.
func ValidateErrorObject(errorObject []byte) error {
	value, err := decode(errorObject)
	if err != nil {
		return invalid("", "the error is not JSON: "+err.Error())
	}
	if value, err = tame(value, ""); err != nil {
		return err
	}
	// The schema's oneOf over all kinds says only that none fits, so the kind is checked first.
	if object, ok := value.(map[string]any); ok {
		if err := validateKind(object); err != nil {
			return err
		}
	}
	return validate("errors#/$defs/errorObject", value)
}

// validateKind checks an error's data by its kind, and that kind and code agree. It leaves objects that it cannot read
// to the schema.
func validateKind(object map[string]any) error {
	data, _ := object["data"].(map[string]any)
	if data["kind"] == nil {
		return nil
	}
	name, ok := data["kind"].(string)
	if !ok {
		return invalid("/data/kind", "expected string, got "+describe(data["kind"]))
	}
	var names []string
	for _, kind := range kindTable {
		if kind.Kind != name {
			names = append(names, kind.Kind)
			continue
		}
		if code, ok := object["code"].(json.Number); ok && code.String() != fmt.Sprint(kind.Code) {
			return &InvalidError{Fields: []FieldError{{
				Pointer:  "/code",
				Message:  fmt.Sprintf("the code of %s is %d, got %s", name, kind.Code, code),
				Expected: fmt.Sprint(kind.Code),
				Got:      code.String(),
			}}}
		}
		err := validate("errors#/$defs/"+name+"Data", data)
		return under("/data", err)
	}
	return &InvalidError{Fields: []FieldError{notOneOf("/data/kind", name, names)}}
}

// under adds a prefix to the pointers of an InvalidError.
func under(prefix string, err error) error {
	var bad *InvalidError
	if !errors.As(err, &bad) {
		return err
	}
	for i := range bad.Fields {
		bad.Fields[i].Pointer = prefix + bad.Fields[i].Pointer
	}
	return bad
}

// validateJSON decodes a value and checks it.
func validateJSON(definition string, data []byte) error {
	value, err := decode(data)
	if err != nil {
		return invalid("", "not JSON: "+err.Error())
	}
	if value, err = tame(value, ""); err != nil {
		return err
	}
	return validate(definition, value)
}

// validate checks a decoded value against a definition.
func validate(definition string, value any) error {
	f, ok, err := check(definition, value)
	if ok || err != nil {
		return err
	}
	return explain(f, value)
}
