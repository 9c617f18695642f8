//go:build linux

package conformance

// portFaults are faults with listening ports.
var portFaults = []fault{
	{name: "tells another port than the one that is listened on", says: "/match/port: expected|/ports/", hooks: inside("result", result().where(endedBy("port")), in("outcome", in("match", add("port", 1))))},
	{name: "says that a port which somebody else has is the job's", says: "/reason: expected", hooks: inside("result", result().where(endedBy("portInUse")), in("outcome", set("reason", "port")))},
	{name: "does not say who has a port", says: "/match/pid: expected|/match: .*lacks", hooks: inside("result", result().where(endedBy("portInUse")), in("outcome", in("match", unset("pid"))))},
	{name: "says that a job listens nowhere", says: "/ports: expected|/job/ports", hooks: inside("result", result("job/get").where(func(m *packet) bool {
		job, _ := m.object("result")["job"].(map[string]any)
		list, _ := job["ports"].([]any)
		return len(list) > 0
	}), in("job", set("ports", []any{})))},
}

// endedBy picks results of waits that have ended for this reason.
func endedBy(reason string) func(*packet) bool {
	return func(m *packet) bool {
		outcome, _ := m.object("result")["outcome"].(map[string]any)
		return outcome["reason"] == reason
	}
}
