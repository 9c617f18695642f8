package inputwait_test

import (
	"strings"
	"testing"

	"shelld.dev/shelld/jobs/internal/inputwait"
)

// A process that reads while another process of the job runs is reported as Reader at once, and as waiting only after a
// longer quiet. A process that waits for more than the input is not a Reader.
func TestReaderWhileOthersRun(t *testing.T) {
	const spins = "while :; do :; done & echo ready; exec "
	for _, test := range []struct {
		name, code string
		reads      bool
	}{
		{"it reads", "cat", true},
		{"it reads for some time", `python3 -c 'import select; select.select([0], [], [], 1000)'`, false},
		{"it waits for something else, too", `python3 -c 'import select, socket; a = socket.create_server(("127.0.0.1", 0)); select.select([0, a], [], [])'`, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			j := onTerminal(t, "sh", "-c", spins+test.code)
			met := func(v inputwait.Verdict) bool {
				return strings.Contains(j.printed(), "ready") && strings.Contains(v.Why, "is blocked in") && strings.Contains(v.Why, "runs")
			}
			var v inputwait.Verdict
			j.await("who takes input while another runs", func(inputwait.Verdict) bool {
				v = j.prober.Look(0)
				return met(v)
			})
			if v.Waiting || v.Again == 0 || (v.Reader != 0) != test.reads {
				t.Errorf("%+v", v)
			}
		})
	}
}
