package rpc

import (
	"slices"

	"shelld.dev/shelld/jobs"
	"shelld.dev/shelld/schema"
)

// portCondition converts the condition port to the engine's. at is the JSON pointer of the condition in its params, for
// errors.
func portCondition(port int64, at string) (jobs.Condition, error) {
	if !slices.Contains(jobs.Conditions(), jobs.UntilPort) {
		return jobs.Condition{}, unsupported(at+"/port", "port", "this system does not report which process listens; wait for a line that the program prints (pattern)")
	}
	return jobs.Condition{Kind: jobs.UntilPort, Port: uint16(port)}, nil // The schema ensures that it fits.
}

// portMatch returns the listening process as a match.
func portMatch(p *jobs.Port) *schema.Match {
	return &schema.Match{Port: optional(int64(p.Port)), Address: &p.Address, PID: optional(int64(p.PID)), Command: optional(p.Command)}
}

// listeningPortBytes is an upper bound for one port in JSON.
const listeningPortBytes = 128

// listeningPorts converts ports. It returns nil if the job was not checked for ports.
func listeningPorts(ports []jobs.Port) (all []schema.ListeningPort) {
	if ports == nil {
		return nil
	}
	all = []schema.ListeningPort{}
	for _, p := range ports {
		all = append(all, schema.ListeningPort{Port: int64(p.Port), Address: p.Address, PID: optional(int64(p.PID))})
	}
	return all
}
