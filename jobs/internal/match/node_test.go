package match

import (
	"encoding/json"
	"os"
	"reflect"
	"testing"
)

// differences names the patterns for which node finds other matches, with the reason.
var differences = map[string]string{
	"an astral character without u":  "text is matched by code points with and without u",
	"an astral class without u":      "text is matched by code points with and without u",
	"an astral quantifier without u": "text is matched by code points with and without u",
}

// TestAgreesWithNode compares with the results of node's own RegExp, recorded by testdata/node.mjs.
func TestAgreesWithNode(t *testing.T) {
	data, err := os.ReadFile("testdata/node.json")
	if err != nil {
		t.Fatal(err)
	}
	type match struct {
		Start  int64
		Text   string
		Groups []*string
		Named  map[string]*string
	}
	var recorded struct {
		Results []struct {
			Name, Pattern, Flags, Text string
			Matches                    []match
		}
	}
	if err := json.Unmarshal(data, &recorded); err != nil {
		t.Fatalf("reading testdata/node.json: %v", err)
	}
	if len(recorded.Results) < 88 {
		t.Errorf("only %d patterns are recorded", len(recorded.Results))
	}
	differ := 0
	for _, r := range recorded.Results {
		t.Run(r.Name, func(t *testing.T) {
			p := compile(t, r.Pattern, r.Flags)
			s := NewSet(0)
			s.Add(1, p, Options{Raw: true}) // some texts hold control characters
			got := []match{}
			for _, h := range append(s.Feed([]byte(r.Text)), s.Settle()...) {
				if h.Removed != nil {
					t.Fatal(h.Removed)
				}
				got = append(got, match{h.Match.Start, h.Match.Text, h.Match.Groups, h.Match.Named})
			}
			same := reflect.DeepEqual(got, r.Matches)
			reason, known := differences[r.Name]
			switch {
			case known:
				differ++
				if same {
					t.Errorf("/%s/%s: agrees with node now; it is still listed because %s", r.Pattern, r.Flags, reason)
				}
			case !same:
				g, _ := json.Marshal(got)
				w, _ := json.Marshal(r.Matches)
				t.Errorf("/%s/%s on %q:\n got %s\nnode %s", r.Pattern, r.Flags, r.Text, g, w)
			}
		})
	}
	if differ != len(differences) {
		t.Errorf("%d of the %d listed differences are not recorded", len(differences)-differ, len(differences))
	}
}
