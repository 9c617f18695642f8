package rpc

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"shelld.dev/shelld/jobs"
	"shelld.dev/shelld/schema"
)

// TestPortsAsTheyAreTold: ports that were not searched for are absent, and so are unknown values.
func TestPortsAsTheyAreTold(t *testing.T) {
	for _, c := range []struct {
		ports []jobs.Port
		want  string
	}{
		{nil, ""},
		{[]jobs.Port{}, `"ports":[]`},
		{[]jobs.Port{{Port: 80, Address: "::", PID: 7}, {Port: 81, Address: "0.0.0.0"}}, `"ports":[{"port":80,"address":"::","pid":7},{"port":81,"address":"0.0.0.0"}]`},
	} {
		text := string(marshal(jobInfo(jobs.Info{Ports: c.ports})))
		if c.want == "" && strings.Contains(text, `"ports"`) || !strings.Contains(text, c.want) {
			t.Errorf("%+v: %s", c.ports, text)
		}
	}
	for want, p := range map[string]jobs.Port{
		`{"port":80,"address":"::1"}`:                                   {Port: 80, Address: "::1"},
		`{"port":80,"address":"127.0.0.1","pid":7,"command":"nginx x"}`: {Port: 80, Address: "127.0.0.1", PID: 7, Command: "nginx x"},
	} {
		if got := string(marshal(portMatch(&p))); got != want {
			t.Errorf("%s, not %s", got, want)
		}
	}
}

// TestPortsFit: a job's ports are cut if they do not fit beside the rest.
func TestPortsFit(t *testing.T) {
	j := longJob()
	for range 256 {
		j.Ports = append(j.Ports, schema.ListeningPort{Port: 65535, Address: "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", PID: new(int64(4194304))})
	}
	if one := marshal(j.Ports[0]); len(one) >= listeningPortBytes {
		t.Errorf("one takes %d bytes", len(one))
	}
	for name, room := range map[string]int{"": smallLimit, "ports": 16 << 10} {
		short := shortJob(j, room)
		cut := slices.Contains(short.Truncated, schema.JobInfoMemberPorts)
		if cut != (name != "") || cut == (len(short.Ports) == 256) || len(j.Ports) != 256 {
			t.Errorf("with %d bytes: %d ports, truncated %v", room, len(short.Ports), short.Truncated)
		}
		if !cut {
			continue
		}
		if body, err := json.Marshal(short.Ports); err != nil || len(body) > room/8 {
			t.Errorf("%d bytes of %d are ports: %v", len(body), room, err)
		}
	}
}
