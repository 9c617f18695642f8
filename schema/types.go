package schema

import (
	"bytes"
	"encoding/json"
)

// These types are used in the generated types if Go's own types would lose information on the wire.

// List is a JSON array that is always present: a nil List is [], while a nil slice would be null. Any slice may be
// assigned to it.
type List[T any] []T

// MarshalJSON writes the array.
func (l List[T]) MarshalJSON() ([]byte, error) {
	if l == nil {
		return []byte("[]"), nil
	}
	return marshal([]T(l))
}

// marshal is json.Marshal without the escapes that only HTML needs.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimRight(b.Bytes(), "\n"), err
}

// Map is a JSON object that is always present: a nil Map is {}, while a nil map would be null. Any map of its kind may
// be assigned to it.
type Map[T any] map[string]T

// MarshalJSON writes the object.
func (m Map[T]) MarshalJSON() ([]byte, error) {
	if m == nil {
		return []byte("{}"), nil
	}
	return marshal(map[string]T(m))
}

// Nullable is a member that may be absent, null or a value, if absent and null mean different things: without timeoutMs
// the default applies, with null there is no timeout. The zero Nullable is absent.
type Nullable[T any] struct {
	Set   bool // the member is present
	Null  bool // it is null
	Value T    // its value, if it is present and not null
}

// ValueOf returns a member that has a value.
func ValueOf[T any](value T) Nullable[T] { return Nullable[T]{Set: true, Value: value} }

// NullOf returns a member that is null.
func NullOf[T any]() Nullable[T] { return Nullable[T]{Set: true, Null: true} }

// IsZero reports whether the member is absent; encoding/json then omits it.
func (n Nullable[T]) IsZero() bool { return !n.Set }

// MarshalJSON writes null or the value.
func (n Nullable[T]) MarshalJSON() ([]byte, error) {
	if !n.Set || n.Null {
		return []byte("null"), nil
	}
	return json.Marshal(n.Value)
}

// UnmarshalJSON reads null or a value.
func (n *Nullable[T]) UnmarshalJSON(data []byte) error {
	*n = Nullable[T]{Set: true}
	if bytes.Equal(data, []byte("null")) {
		n.Null = true
		return nil
	}
	return json.Unmarshal(data, &n.Value)
}
