package main

import (
	"bytes"
	"strconv"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// misfitText says why a message cannot be read as it is, and the code for that; "": it can. The SDK would
// read U+FFFD in place of what is no character, in ids and in what is run.
func misfitText(line []byte) (code int, why string) {
	switch {
	case !utf8.Valid(line):
		return jsonrpc.CodeParseError, "the message is not UTF-8: encode text as UTF-8"
	case hasLoneSurrogate(line):
		return jsonrpc.CodeInvalidParams, `the message has half of a surrogate pair (\ud800 to \udfff), which stands for no character: send both halves, or the character itself`
	}
	return 0, ""
}

// noText answers a message with text that cannot be read. A question of the server's has an answer then,
// that allows nothing.
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

// hasLoneSurrogate reports whether a JSON text has an escape of half a surrogate pair without the
// other half.
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

// escape reads the escape that a valid JSON text begins with; 0 if it begins with none, or with one
// that is no \u.
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
