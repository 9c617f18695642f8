// Package schema is the contract of the Shell Server Protocol: the JSON Schema files in json/, which are its normative
// form, and the Go code that checks messages against them.
//
// A member that a server always knows is required. Other members are optional, and their descriptions say when they are
// absent. Members that are added to existing messages are optional.
//
// The files are draft 2020-12: one per method (job/start is job-start.schema.json) with the definitions params and
// result, and three that several methods share: common, errors and envelope. Their descriptions are the protocol's
// reference. Each method's file says in x-shelld which side sends it and what it is; a method has no other
// registration.
//
// types_gen.go holds a Go type for each definition, rules_gen.go its rule and the table of methods. They are generated
// from the files (go generate ./schema), and a test fails if they are out of date.
//
// # Validation
//
// The steps of one call of [ValidateParams]: the params are decoded to plain JSON values with their numbers as text.
// Numbers of hostile size are replaced by harmless ones that fail in the same way. The value is checked by the rule of
// its definition. A rule (fits.go) is generated from the schema files, and says only that a value fits. A value that
// does not fit goes to the validator's library, which compiles the method's schema at its first use, and decides. Its
// failure is turned into a list of [FieldError], each with the place, the expected value and, for a misspelt name, the
// right one. Texts of the validator's library never reach a message.
//
// The package starts no goroutine and reads no file: everything is embedded. All its functions may be called from any
// goroutine.
package schema
