//go:build linux

package conformance

// limitFaults are faults with the limits of a job, and with groups.
var limitFaults = []fault{
	{name: "omits the limit that ended a job", says: "the limit is told with the reason limit|/exit/limit: expected", hooks: inside("params", event("exited").where(byLimit), in("exit", unset("limit")))},
	{name: "reports a limit for a job that ended by itself", says: "the limit is told with the reason limit|/exit/limit: expected", hooks: inside("params", event("exited").where(func(m *packet) bool { return !byLimit(m) }), in("exit", set("limit", "cpuMs")))},
	{name: "reports a limit for a job that a signal ended", says: "/exit/reason: expected|the exit of job .* is told as", slow: true, hooks: inside("result", result("job/run").where(func(m *packet) bool {
		exit, _ := m.object("result")["exit"].(map[string]any)
		return exit["reason"] == "signaled"
	}), in("exit", func(o map[string]any) { o["reason"], o["limit"] = "limit", "cpuMs" }))},
	{name: "reports that all jobs of a group got a signal", says: "/sent: expected", hooks: inside("result", result("job/signal").has("jobs"), func(o map[string]any) {
		each(o["jobs"], func(job map[string]any) { job["sent"] = true })
	})},
	{name: "omits the live groups", says: "/liveGroups: expected", hooks: inside("result", result("job/signal", "job/kill").has("liveGroups"), unset("liveGroups"))},
}

func byLimit(m *packet) bool {
	exit, _ := m.object("params")["exit"].(map[string]any)
	return exit["reason"] == "limit"
}
