package conformance

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// problem returns why a value does not fit a schema, or "". what names the value: the params of job/write.
func problem(what string, s *jsonschema.Schema, v any) string {
	if s == nil {
		return ""
	}
	err := s.Validate(forSchema(v))
	if err == nil {
		return ""
	}
	var ve *jsonschema.ValidationError
	if !errors.As(err, &ve) {
		return what + ": " + err.Error()
	}
	for len(ve.Causes) > 0 {
		ve = ve.Causes[0]
	}
	at := what + ": "
	if ve.InstanceLocation != "" {
		at += ve.InstanceLocation + ": "
	}
	return at + inWords(ve.Message)
}

// A translation rephrases one of the validator's messages for the author of the value.
type translation struct {
	says *regexp.Regexp
	mean string
}

// jargon is compiled when the first value is wrong, so that the commands of the program do not wait for it at
// start.
var jargon = sync.OnceValue(func() []translation {
	return []translation{
		{regexp.MustCompile(`^missing properties: ([^,]*)$`), "lacks the member $1"},
		{regexp.MustCompile(`^missing properties: (.*)$`), "lacks the members $1"},
		{regexp.MustCompile(`^additionalProperties ([^,]*) not allowed$`), "has a member that the schema does not know: $1"},
		{regexp.MustCompile(`^additionalProperties (.*) not allowed$`), "has members that the schema does not know: $1"},
		{regexp.MustCompile(`^property (.*) is required, if (.*) property exists$`), "lacks the member $1, which belongs to $2"},
		{regexp.MustCompile(`^minimum (\d+) properties allowed, but found (\d+) properties$`), "must have at least $1 members, and has $2"},
		{regexp.MustCompile(`^maximum (\d+) properties allowed, but found (\d+) properties$`), "must have at most $1 members, and has $2"},
		{regexp.MustCompile(`^minimum (\d+) items required, but found (\d+) items$`), "must have at least $1 elements, and has $2"},
		{regexp.MustCompile(`^maximum (\d+) items required, but found (\d+) items$`), "must have at most $1 elements, and has $2"},
		{regexp.MustCompile(`^length must be (.*), but got (\d+)$`), "must have $1 characters, and has $2"},
		{regexp.MustCompile(`^not failed$`), "has members that the schema does not allow together"},
		{regexp.MustCompile(`^valid against schemas at indexes .*$`), "fits several forms of which it may have one alone"},
	}
})

// inWords rephrases a message of the validator without the terms of JSON Schema. It sorts names, because the
// validator takes them from a map.
func inWords(message string) string {
	for _, j := range jargon() {
		found := j.says.FindStringSubmatch(message)
		if found == nil {
			continue
		}
		said := j.mean
		for i, group := range found[1:] {
			names := strings.Split(group, ", ")
			slices.Sort(names)
			said = strings.ReplaceAll(said, fmt.Sprint("$", i+1), strings.Join(names, ", "))
		}
		return said
	}
	return message
}
