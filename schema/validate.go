package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// InvalidError says what is wrong in a value that does not fit its schema.
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

// FieldError is one thing that is wrong in a value. It is the wire's fieldError,
// an element of errors in the data of invalidParams.
type FieldError struct {
	// Pointer is the JSON pointer (RFC 6901) to what is wrong; "" is the whole
	// value. For a missing member it leads to the object that lacks it.
	Pointer string `json:"pointer"`
	// Message says what is wrong in words.
	Message string `json:"message"`
	// Expected says what belongs there, Got what was found; "" where Message says all.
	Expected string `json:"expected,omitempty"`
	Got      string `json:"got,omitempty"`
	// DidYouMean is the nearest name or value that is allowed; "" if none is near.
	DidYouMean string `json:"didYouMean,omitempty"`
	// Allowed holds the names or values that are allowed: all if they are few,
	// else the near ones; nil where that does not apply.
	Allowed []string `json:"allowed,omitempty"`
}

// invalid returns an InvalidError of one field.
func invalid(pointer, message string) *InvalidError {
	return &InvalidError{Fields: []FieldError{{Pointer: pointer, Message: message}}}
}

// ValidateParams checks the params of a method, request or notification, of
// either side. Empty params, null and [] count as {}. What does not fit is an
// *InvalidError; a method that there is no schema for is any other error.
func ValidateParams(method string, params []byte) error {
	_, err := validParams(method, params)
	return err
}

// DecodeParams checks the params of a method as ValidateParams does and then
// stores them in the generated type that into points to. It takes integers
// however they are spelled: 80.0 and 8e1 are 80, as JSON Schema has it, though
// encoding/json on its own would refuse them.
func DecodeParams(method string, params []byte, into any) error {
	if p, ok := into.(*JobWriteParams); ok && method == "job/write" && plainWrite(params, p) {
		return nil
	}
	return decodeLong(method, params, into)
}

// decodeLong stores what was checked, and not the params a second time: encoding/json
// takes names in any case, and of two members of one name both, where the schemas saw
// neither the one nor the other.
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

// store has into hold a value that was checked and has no members that it does not know.
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
		return nil, fmt.Errorf("schema: there is no schema for the params of %q", method)
	}
	if err := validate(fileName(method)+"#/$defs/params", value); err != nil {
		return nil, err
	}
	return value, nil
}

// ValidateResult checks the result of a request. What does not fit is an
// *InvalidError; a method that has no result is any other error.
func ValidateResult(method string, result []byte) error {
	m, known := methodNamed(method)
	if !known || !m.HasResult {
		return fmt.Errorf("schema: there is no schema for the result of %q", method)
	}
	return validateJSON(fileName(method)+"#/$defs/result", result)
}

// ValidateStored checks what is stored of a job in info.json. What does not fit is an
// *InvalidError.
func ValidateStored(info []byte) error { return validateJSON("info#/$defs/storedInfo", info) }

// ValidateUnderstood checks a JobInfo as [ValidateStored] does, except that a word may be one that
// this version does not know where the schema lists all: another version has stored it. What does
// not fit otherwise is an *InvalidError.
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

// isOfWords says whether all that is wrong in a value is words, or names, that no list has.
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
	case map[string]any: // of which it is a name
		return true
	}
	return false
}

// ValidateErrorObject checks the error member of an answer: that its kind is
// known, its code the kind's own, and its data as the kind has it. What does
// not fit is an *InvalidError.
func ValidateErrorObject(errorObject []byte) error {
	value, err := decode(errorObject)
	if err != nil {
		return invalid("", "the error is no JSON: "+err.Error())
	}
	if value, err = tame(value, ""); err != nil {
		return err
	}
	// The schema's oneOf over all kinds says only that none fits, so the kind is
	// looked at first.
	if object, ok := value.(map[string]any); ok {
		if err := validateKind(object); err != nil {
			return err
		}
	}
	return validate("errors#/$defs/errorObject", value)
}

// validateKind checks an error's data by its kind, and that kind and code agree.
// It leaves to the schema what it cannot read.
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

// under puts a prefix before the pointers of an InvalidError.
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
		return invalid("", "no JSON: "+err.Error())
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
