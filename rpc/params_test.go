package rpc

import "testing"

func TestLoneSurrogates(t *testing.T) {
	for _, c := range []struct {
		json string
		lone bool
	}{
		{`{}`, false}, {``, false}, {`{"a":"plain ☺"}`, false},
		{`{"a":"\ud83d\ude00"}`, false}, {`{"a":"\u00e9\n\\u"}`, false}, {`{"a":"\\\\ud800"}`, false},
		{`{"a":"\ud800"}`, true}, {`{"a":"\udc00"}`, true}, {`{"a":"\ud800x"}`, true},
		{`{"a":"\ud800\ud800\udc00"}`, true}, {`{"a":"\ud800\n"}`, true}, {`{"\uDFFF":1}`, true},
		{`"\ud83d\ude00\ud83d"`, true},
	} {
		if got := hasLoneSurrogate([]byte(c.json)); got != c.lone {
			t.Errorf("hasLoneSurrogate(%s) = %v", c.json, got)
		}
	}
}
