package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// maxInteger is the largest integer of the protocol. Up to it a double is exact, and so is every JSON reader.
const maxInteger = 1<<53 - 1

// maxMembers is the maximum number of items or members of an array or object in params. It is the largest maximum in
// the schemas. It is checked before them, since the validator would make an error for each of millions of bad items.
const maxMembers = 65536

// decode reads one JSON value as plain values, with numbers as text.
func decode(data []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, io.ErrUnexpectedEOF
		}
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one JSON value")
	}
	return value, nil
}

// decodeParams is decode for params: absent, null and [] are {}.
func decodeParams(params []byte) (value any, err error) {
	if len(params) == 0 {
		return map[string]any{}, nil
	}
	value, err = decode(params)
	if err != nil {
		return nil, invalid("", "the params are not JSON: "+err.Error())
	}
	if items, ok := value.([]any); value == nil || ok && len(items) == 0 {
		return map[string]any{}, nil
	}
	return tame(value, "")
}

// tame makes a decoded value safe for the validator, and refuses a value that is too large for it. The validator
// computes with exact fractions: 1e999999 would cost it a number of a million digits, and 1e9999999 would crash it.
//
// The recursion is limited by encoding/json, which refuses more than 10 000 levels.
func tame(value any, pointer string) (tamed any, err error) {
	switch v := value.(type) {
	case json.Number:
		return tameNumber(v), nil
	case []any:
		if len(v) > maxMembers {
			return nil, tooMany(pointer, "items", len(v))
		}
		for i, item := range v {
			if plain(item) {
				continue
			}
			t, err := tame(item, pointer+"/"+strconv.Itoa(i))
			if err != nil {
				return nil, err
			}
			v[i] = t
		}
	case map[string]any:
		if len(v) > maxMembers {
			return nil, tooMany(pointer, "members", len(v))
		}
		for name, member := range v {
			if plain(member) {
				continue
			}
			t, err := tame(member, pointer+"/"+escapeToken(name))
			if err != nil {
				return nil, err
			}
			v[name] = t
		}
	}
	return value, nil
}

// plain reports whether a value needs no taming, so that its pointer need not be built.
func plain(value any) bool {
	switch v := value.(type) {
	case json.Number:
		return tameNumber(v) == v
	case []any, map[string]any:
		return false
	}
	return true
}

func tooMany(pointer, what string, n int) error {
	return invalid(pointer, fmt.Sprintf("has %d %s, at most %d are allowed", n, what, maxMembers))
}

// tameNumber returns a number that the schemas treat the same, in at most 24 characters: whole numbers in digits,
// numbers beyond ±2^53 as ±2^53, and the nearest double of any other.
func tameNumber(n json.Number) json.Number {
	if len(n) <= 15 && isDigits(string(n)) {
		return n
	}
	f, err := strconv.ParseFloat(string(n), 64)
	switch {
	case f > maxInteger || err != nil && f > 0:
		return json.Number(strconv.FormatInt(maxInteger+1, 10))
	case f < -maxInteger || err != nil && f < 0:
		return json.Number(strconv.FormatInt(-maxInteger-1, 10))
	case f == float64(int64(f)):
		return json.Number(strconv.FormatInt(int64(f), 10))
	}
	return json.Number(strconv.FormatFloat(f, 'g', -1, 64))
}

func isDigits(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c != '-' || i > 0) {
			return false
		}
	}
	return true
}
