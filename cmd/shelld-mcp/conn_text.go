package main

import (
	"bytes"
	"strconv"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// misfitText returns the reason, and the error code, if the text of a message cannot be decoded exactly; "": it can.
// The SDK would replace invalid characters with U+FFFD, even in IDs and in commands.
func misfitText(line []byte) (code int, why string) {
	switch {
	case !utf8.Valid(line):
		return jsonrpc.CodeParseError, "the message is not UTF-8: encode text as UTF-8"
	case hasLoneSurrogate(line):
		return jsonrpc.CodeInvalidParams, `the message has half of a surrogate pair (\ud800 to \udfff), which stands for no character: send both halves, or the character itself`
	}
	return 0, ""
}

// noText answers a message with invalid text with an error. If the message is itself an answer, noText returns an error
// in its place for the SDK, so that the question has an answer, one that allows nothing.
func (c *conn) noText(line []byte, code int, why string) jsonrpc.Message {
	if !isAnswer(line) {
		id := idOf(line)
		if !utf8.Valid(id) {
			id = nil
		}
		c.refused(id, code, why)
		return nil
	}
	msg, err := jsonrpc.DecodeMessage(line)
	answer, ok := msg.(*jsonrpc.Response)
	if err != nil || !ok || inexact(idOf(line)) != "" {
		return nil
	}
	c.heard(answer.ID)
	return &jsonrpc.Response{ID: answer.ID, Error: &jsonrpc.Error{Code: int64(code), Message: why}}
}

// hasLoneSurrogate reports whether a JSON text contains an escape of half a surrogate pair without the other half.
func hasLoneSurrogate(text []byte) bool {
	for {
		i := bytes.IndexByte(text, '\\')
		if i < 0 {
			return false
		}
		text = text[i:]
		r, length := escape(text)
		if r >= 0xdc00 && r <= 0xdfff {
			return true
		}
		text = text[length:]
		if r < 0xd800 || r > 0xdbff {
			continue
		}
		low, length := escape(text)
		if low < 0xdc00 || low > 0xdfff {
			return true
		}
		text = text[length:]
	}
}

// escape returns the code and the length of the escape at the start of a valid JSON text. The code is 0 if the escape
// is not \u; both are 0 if there is none.
func escape(text []byte) (r uint64, length int) {
	switch {
	case len(text) < 2 || text[0] != '\\':
		return 0, 0
	case text[1] != 'u' || len(text) < 6:
		return 0, 2
	}
	r, err := strconv.ParseUint(string(text[2:6]), 16, 32)
	if err != nil {
		return 0, 2
	}
	return r, 6
}
