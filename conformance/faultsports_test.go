//go:build linux

package conformance

// portFaults are faults with listening ports.
var portFaults = []fault{
	{name: "reports a wrong port", says: "/match/port: expected|/ports/", hooks: inside("result", result().where(endedBy("port")), in("outcome", in("match", add("port", 1))))},
	{name: "reports another program's port as the job's", says: "/reason: expected", hooks: inside("result", result().where(endedBy("portInUse")), in("outcome", set("reason", "port")))},
	{name: "omits the program that uses a port", says: "/match/pid: expected|/match: .*lacks", hooks: inside("result", result().where(endedBy("portInUse")), in("outcome", in("match", unset("pid"))))},
	{name: "omits the ports of a job", says: "/ports: expected|/job/ports", hooks: inside("result", result("job/get").where(func(m *packet) bool {
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
