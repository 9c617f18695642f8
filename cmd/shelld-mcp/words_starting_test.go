package main

import (
	"testing"

	"shelld.dev/shelld/client"
	"shelld.dev/shelld/schema"
)

// TestStartingShell checks that errors about a shell without a first prompt, or one that takes no commands, are in
// terms of tools. The server takes ten seconds to return some of them.
func TestStartingShell(t *testing.T) {
	for _, test := range []struct {
		kind          schema.Kind
		message, want string
	}{
		{schema.KindShellBusy, "is still reading its start-up files, in which \"sh\" (process 7) waits for input; answer or leave that with job/write, and send this again (job/screen shows what it asks)", "leave that with CliWrite, and send this again (CliRead shows what it asks)"},
		{schema.KindShellBusy, "is still reading its start-up files; send this again when it is done, or interrupt it with job/signal INT, or leave ifBusy out to queue this command", "or interrupt it with {ctrl+c} of CliWrite"},
		{schema.KindShellBusy, "(type \"unset -f builtin\" with job/write); try again when it reads a line, or interrupt it with job/signal INT", "(type \"unset -f builtin\" with CliWrite)"},
		{schema.KindShellIntegrationUnavailable, "which has no integration; start that program itself if it is a shell (shell, or argv), or this shell without these files, for job/exec, or type with job/write", "start that program itself by CliSession, or type with CliWrite"},
	} {
		got := inWords("CliEnv", &client.Error{ErrorObject: schema.ErrorObject{Message: test.message}, Kind: test.kind})
		contains(t, got, test.want)
		if word := protocolWords.FindString(got); word != "" {
			t.Errorf("%q is a word of the protocol's: %s", word, got)
		}
	}
}
