package schema

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

var plainTexts = []string{
	`{"handle":1,"input":"x"}`,
	` { "handle" : 12 , "input" : "a b\n\r\t\\\"\/\b\f" , "appendNewline" : true } `,
	`{"appendNewline":false,"handle":999999999999999}`,
}

var otherTexts = []string{
	``, `{}`, `[]`, `null`, `{"input":"x"}`, `{"handle":0}`, `{"handle":01}`, `{"handle":-1}`, `{"handle":1.0}`, `{"handle":1e3}`,
	`{"handle":9007199254740993}`, `{"handle":"a"}`, `{"handle":1,"input":"é"}`, `{"handle":1,"input":"\u0041"}`, `{"handle":1,"input":"\x"}`,
	`{"handle":1,"input":null}`, `{"handle":1,"handle":1}`, `{"handle":1,"input":"a","input":"b"}`, `{"handle":1,}`, `{"handle":1}}`,
	`{"handle":1 "input":"x"}`, `{"handle":1,"Input":"x"}`, `{"handle":1,"eof":true}`, `{"handle":1,"appendNewline":truex}`, `{"handle":1`,
	`{"handle":1,"input":"x`, "{\"handle\":1,\"input\":\"\n\"}", `{"handle":1,"input":"\`, `{"handle":1,"appendNewline":1}`,
}

func TestPlainWrite(t *testing.T) {
	for _, text := range plainTexts {
		var p JobWriteParams
		if !plainWrite([]byte(text), &p) {
			t.Errorf("%s goes the long way", text)
		}
		agree(t, text)
	}
	for _, text := range otherTexts {
		var p JobWriteParams
		if plainWrite([]byte(text), &p) || !reflect.DeepEqual(p, JobWriteParams{}) {
			t.Errorf("%s is taken for plain, or has left something: %v", text, p)
		}
	}
}

// TestPlainWriteAgreesWithTheSchema: params that count as plain are valid by the schema, and mean the same, after any
// change to their text.
func TestPlainWriteAgreesWithTheSchema(t *testing.T) {
	const pieces = `{}[]":,\ nrtbfu0123456789-.eEtruefalsnxhadlipwN` + "\n\té\x00\x7f"
	r := rand.New(rand.NewPCG(1, 2))
	plain := 0
	for range 200_000 {
		text := []byte(plainTexts[r.IntN(len(plainTexts))])
		for range r.IntN(3) {
			at, c := r.IntN(len(text)), pieces[r.IntN(len(pieces))]
			switch r.IntN(3) {
			case 0:
				text[at] = c
			case 1:
				text = append(text[:at], append([]byte{c}, text[at:]...)...)
			default:
				text = append(text[:at], text[at+1:]...)
			}
		}
		if agree(t, string(text)) {
			plain++
		}
	}
	if plain < 10_000 {
		t.Errorf("%d of the texts were plain", plain)
	}
}

// agree compares plainWrite with the general path, if the text counts as plain.
func agree(t *testing.T, text string) bool {
	t.Helper()
	var p, want JobWriteParams
	if !plainWrite([]byte(text), &p) {
		return false
	}
	if err := decodeLong("job/write", []byte(text), &want); err != nil || !reflect.DeepEqual(p, want) {
		t.Fatalf("%s: %+v, the schema says %+v, %v", strings.ToValidUTF8(text, "?"), p, want, err)
	}
	return true
}
