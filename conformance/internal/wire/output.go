package wire

import (
	"encoding/base64"
	"slices"
	"unicode/utf8"
)

// Flatten returns an error in the form that sessions match: kind, code, message, and the members of data beside
// them.
func Flatten(v any) any {
	o, ok := v.(map[string]any)
	if !ok {
		return v
	}
	flat := map[string]any{}
	if data, ok := o["data"].(map[string]any); ok {
		for k, v := range data {
			flat[k] = v
		}
	}
	for k, v := range o {
		flat[k] = v
	}
	return flat
}

// HalfRune returns the incomplete character at the end of data, or nil if the last one is whole.
func HalfRune(data []byte) []byte {
	for k := 1; k < utf8.UTFMax && k <= len(data); k++ {
		if tail := data[len(data)-k:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				return slices.Clone(tail)
			}
			return nil
		}
	}
	return nil
}

// OutputBytes returns the bytes of a job/output, or an error text.
func OutputBytes(o map[string]any) ([]byte, string) {
	if text, ok := o["text"].(string); ok {
		return []byte(text), ""
	}
	encoded, _ := o["base64"].(string)
	data, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return nil, "base64 cannot be decoded: " + err.Error()
	}
	return data, ""
}
