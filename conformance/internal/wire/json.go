package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A Number is a JSON number in its original spelling.
type Number string

// MaxNesting is the maximum depth of values, in session files and in messages of servers.
const MaxNesting = 1000

// Decode reads one JSON text as nil, bool, Number, string, []any and map[string]any. A duplicate member is an
// error: JSON readers differ in which one they take.
func Decode(data []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	v, err := decodeNext(d, 0)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("there is more behind the JSON text")
	}
	return v, nil
}

func decodeNext(d *json.Decoder, depth int) (any, error) {
	if depth > MaxNesting {
		return nil, fmt.Errorf("values are nested deeper than %d", MaxNesting)
	}
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t := t.(type) {
	case json.Number:
		return Number(t), nil
	case json.Delim:
		if t == '[' {
			return decodeArray(d, depth)
		}
		return decodeObject(d, depth)
	}
	return t, nil
}

func decodeArray(d *json.Decoder, depth int) (any, error) {
	a := []any{}
	for d.More() {
		v, err := decodeNext(d, depth+1)
		if err != nil {
			return nil, err
		}
		a = append(a, v)
	}
	_, err := d.Token()
	return a, err
}

func decodeObject(d *json.Decoder, depth int) (any, error) {
	o := map[string]any{}
	for d.More() {
		k, err := d.Token()
		if err != nil {
			return nil, err
		}
		name, _ := k.(string)
		if _, ok := o[name]; ok {
			return nil, fmt.Errorf("the member %q is there twice", name)
		}
		if o[name], err = decodeNext(d, depth+1); err != nil {
			return nil, err
		}
	}
	_, err := d.Token()
	return o, err
}

// Encode returns a value as JSON, with members in order of their names.
func Encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(forJSON(v)); err != nil {
		return []byte(`"(no JSON)"`) // This never happens: only Decode and sessions make values.
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

// forJSON keeps the spelling of numbers.
func forJSON(v any) any {
	switch v := v.(type) {
	case Number:
		return json.RawMessage(v)
	case []any:
		a := make([]any, len(v))
		for i, e := range v {
			a[i] = forJSON(e)
		}
		return a
	case map[string]any:
		o := make(map[string]any, len(v))
		for k, e := range v {
			o[k] = forJSON(e)
		}
		return o
	}
	return v
}

// Show returns a value as JSON, cut to 300 characters.
func Show(v any) string {
	const most = 300
	s := string(Encode(v))
	if utf8.RuneCountInString(s) > most {
		s = string([]rune(s)[:most]) + "…"
	}
	return s
}

// Rational returns the value of a number. It rejects exponents beyond ±400, such as 1e999999999, and numbers of
// more than 400 characters.
func Rational(v any) (*big.Rat, bool) {
	n, ok := v.(Number)
	if !ok || len(n) > 400 {
		return nil, false
	}
	if i := strings.IndexAny(string(n), "eE"); i >= 0 {
		if e, err := strconv.Atoi(string(n[i+1:])); err != nil || e > 400 || e < -400 {
			return nil, false
		}
	}
	return new(big.Rat).SetString(string(n))
}

// Int returns the value of a number if it is an integer of 64 bits.
func Int(v any) (int64, bool) {
	r, ok := Rational(v)
	if !ok || !r.IsInt() || !r.Num().IsInt64() {
		return 0, false
	}
	return r.Num().Int64(), true
}
