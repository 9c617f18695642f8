//go:build linux

package conformance

// envFaults are faults in the environments that a server reports and changes, and in the facts about its machine.
var envFaults = []fault{
	{name: "forgets a variable that the client has set", word: "env/set", says: "expected|differs", hooks: editRequest("env/set", func(params map[string]any) bool {
		params["name"] = "ANOTHER"
		return true
	})},
	{name: "forgets that the client has unset a variable", word: "env/unset", says: "expected|differs", hooks: editRequest("env/unset", func(params map[string]any) bool {
		params["name"] = "ANOTHER"
		return true
	})},
	{name: "reports a wrong source of a variable", word: "env/get", says: "/source: expected", hooks: inside("result", result("env/get").has("source"), set("source", "builtin"))},
	{name: "reports the value of a secret variable", word: "env/get", says: "expected|has what was written as a secret", hooks: inside("result", result("env/get", "env/set").has("secret"), set("value", "correct horse"))},
	{name: "omits that a variable is secret", word: "env/get", says: "/secret|lacks the member", hooks: inside("result", result("env/get", "env/set").has("secret"), unset("secret"))},
	{name: "reports a wrong number of variables", word: "env/list", says: "/count: expected", hooks: inside("result", result("env/list"), add("count", 1))},
	{name: "reports a wrong scope of a variable", word: "env/set", says: "/scope: expected", hooks: inside("result", result("env/set"), set("scope", "job"))},
	{name: "reports a value for an unset variable", word: "env/get", says: "/value: expected|has no", hooks: inside("result", result("env/get").where(func(m *packet) bool { return m.object("result")["source"] == nil }), set("value", ""))},
	{name: "omits the shell that runs commands", word: "platform/get", says: "/shells", hooks: inside("result", result("platform/get"), func(o map[string]any) {
		each(o["shells"], unset("default"))
	})},
	{name: "reports a missing shell", word: "platform/get", says: "/shellPath|/shell", hooks: inside("result", result("platform/get"), set("shellPath", "/no/such/shell"))},
	{name: "reports features that the shell lacks", word: "platform/get", says: "/features", hooks: inside("result", result("platform/get"), in("features", set("heredoc", false)))},
}
