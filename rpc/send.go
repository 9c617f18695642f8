package rpc

import (
	"encoding/base64"
	"strings"

	"shelld/schema"
)

// sendBytes is what the pieces of a send come to.
func sendBytes(p *schema.JobWriteParams) (string, error) {
	if p.Input != nil || p.Keys != nil {
		return "", invalidParams(schema.FieldError{Pointer: "/send", Message: "send comes in place of input and keys: give one or the other"})
	}
	var all strings.Builder
	for i, item := range p.Send {
		piece, err := base64.StdEncoding.DecodeString(item.Base64)
		if err != nil {
			return "", invalidParams(schema.FieldError{Pointer: pointer("/send", i, "base64"), Message: "this is no base64 (the standard alphabet, with padding)"})
		}
		all.Write(piece)
	}
	return all.String(), nil
}
