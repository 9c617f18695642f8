package schema_test

import (
	"fmt"

	"shelld.dev/shelld/schema"
)

// ValidateParams reports every member that does not fit, with a near name if one is misspelled.
func ExampleValidateParams() {
	fmt.Println(schema.ValidateParams("job/run", []byte(`{"command":"make","timeout":1000}`)))
	fmt.Println(schema.ValidateParams("job/run", []byte(`{"command":"make","timeoutMs":1000}`)))
	// Output:
	// /timeout: unknown member "timeout"; did you mean "timeoutMs"?
	// <nil>
}

// ValidateMessage checks a message as it goes over the wire.
func ExampleValidateMessage() {
	request := []byte(`{"jsonrpc":"2.0","id":1,"method":"job/kill","params":{"handle":1}}`)
	response := []byte(`{"jsonrpc":"2.0","id":1,"result":{"killed":[]}}`)
	methodOfID := func(id string) string { return "job/kill" }
	fmt.Println(schema.ValidateMessage("client", request, methodOfID))
	fmt.Println(schema.ValidateMessage("server", response, methodOfID))
	// Output:
	// <nil>
	// /result: needs exactly one of signals, killed, survivors, alreadyClosed and job and jobs, has killed
}
