package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"shelld.dev/shelld/client"
	"shelld.dev/shelld/schema"
)

// This file translates the server's errors for a model. The server names the members of its own requests, and suggests
// requests and options of the protocol. A model knows only the parameters of its tool, the other tools, and the flags
// with which a person can start shelld-mcp.

// ownNames maps, for each tool, names of the protocol to the tool's parameters if they differ.
var ownNames = map[string]map[string]string{
	"run_shell_command":    {"cwd": "dir_path", "pattern": "ai_callback_pattern", "maxBytes": "max_output_size", "timeoutMs": "ai_callback_delay"},
	"send_input":           {"pattern": "ai_callback_pattern", "timeoutMs": "ai_callback_delay", "text": "input"},
	"write_to_shell":       {"handle": "pid", "key": "special_keys", "keys": "special_keys"},
	"read_shell":           {"handle": "pid"},
	"execute_bash_command": {"cwd": "directory"},
	"CliRun":               {"cwd": "workingDirectory", "timeoutMs": "timeout"},
	"CliSession":           {"cwd": "workingDirectory", "name": "sessionId"},
	"CliRead":              {"handle": "sessionId", "timeoutMs": "timeout"},
	"CliWrite":             {"handle": "sessionId", "timeoutMs": "timeout", "text": "input", "key": "input", "send": "input"},
	"CliStop":              {"handle": "sessionId"},
	"CliEnv":               {"handle": "sessionId", "cwd": "workingDirectory"},
	"shell":                {"handle": "job", "maxBytes": "max_bytes", "timeoutMs": "timeout_seconds", "quietMs": "quiet_seconds", "text": "input", "key": "keys", "send": "keys"},
	"shell_output":         {"handle": "job", "offset": "from", "maxBytes": "max_bytes", "pattern": "find", "maxMatches": "max_matches"},
	"shell_end":            {"handle": "job", "graceMs": "grace_seconds"},
}

// ownName returns a tool's name for a member of the protocol's requests.
func ownName(tool, member string) string { return cmp.Or(ownNames[tool][member], member) }

// inWords returns the text of an error from the server, translated for a tool.
func inWords(tool string, refusal *client.Error) string {
	switch refusal.Kind {
	case schema.KindInvalidParams:
		return wrongParams(tool, refusal)
	case schema.KindInvalidPattern:
		return ownName(tool, "pattern") + strings.TrimPrefix(refusal.Message, "the pattern")
	case schema.KindCommandNotFound:
		var data schema.CommandNotFoundData
		if json.Unmarshal(refusal.Data, &data) == nil && len(data.Suggestions) > 0 {
			return fmt.Sprintf("%s; similar names are %s", refusal.Message, strings.Join(data.Suggestions, ", "))
		}
	case schema.KindJobNotFound:
		var data schema.JobNotFoundData
		_ = json.Unmarshal(refusal.Data, &data) // The sentence is complete without the data.
		return fmt.Sprintf("job %s is no longer known: it ended long ago, or its start failed. %s lists the running jobs", data.Handle, listTool(tool))
	case schema.KindInputHeld:
		return inputHeld(refusal)
	case schema.KindInvalidKey:
		var data schema.InvalidKeyData
		if json.Unmarshal(refusal.Data, &data) == nil && len(data.Allowed) > 0 {
			return wrongKey(tool, &data)
		}
	case schema.KindBadWorkingDirectory:
		// The path before these words may contain them too.
		if message, ok := strings.CutSuffix(refusal.Message, "as cwd"); ok {
			return message + "as " + ownName(tool, "cwd")
		}
	}
	if words := advice[refusal.Kind]; words != nil {
		return words.Replace(refusal.Message)
	}
	return refusal.Message
}

// inputHeld says who holds the input of a job.
func inputHeld(refusal *client.Error) string {
	var data schema.InputHeldData
	if json.Unmarshal(refusal.Data, &data) != nil || data.Holder == "" {
		return refusal.Message
	}
	who := data.Holder
	if data.ClientInfo != nil && data.ClientInfo.Name != nil {
		who = *data.ClientInfo.Name + " (" + who + ")"
	}
	switch {
	case data.Human != nil:
		return fmt.Sprintf("a person at %s is typing into job %d; nothing was typed. Wait for output or the end (shell with job and no input, CliRead), and try again when they have given the input back", who, data.Handle)
	case data.Away != nil:
		return fmt.Sprintf("only %s may type into job %d, which it has started or taken over, and it is not there now; nothing was typed. Ask the user to give the input back, or start a job of your own", who, data.Handle)
	}
	return fmt.Sprintf("only %s may type into job %d, which it has started or taken over; nothing was typed. Read the output, or start a job of your own", who, data.Handle)
}

// listTool returns the tool that lists the jobs.
func listTool(tool string) string {
	if strings.HasPrefix(tool, "shell") {
		return "shell_jobs"
	}
	return "jobs"
}

// wrongParams lists the invalid parameters by the tool's names.
func wrongParams(tool string, refusal *client.Error) string {
	var data schema.InvalidParamsData
	if json.Unmarshal(refusal.Data, &data) != nil || len(data.Errors) == 0 {
		return refusal.Message
	}
	texts := make([]string, len(data.Errors))
	for i, e := range data.Errors {
		texts[i] = strings.TrimPrefix(ownPointer(tool, e.Pointer)+": ", ": ") + strings.Replace(e.Message, "give the long part as stdin {text}", "put the long part into a file, and name that", 1)
		if tool == "CliEnv" {
			texts[i] = strings.Replace(texts[i], "give cwd to its start", "give "+ownName(tool, "cwd")+" to its start", 1)
		}
	}
	return strings.Join(texts, "; ")
}

// ownPointer returns the tool's parameter for a place in a request.
func ownPointer(tool, pointer string) string {
	members := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	for i := len(members) - 1; i >= 0; i-- {
		member := members[i]
		own, renamed := ownNames[tool][member]
		switch {
		case member == "env" && i+1 < len(members):
			return "env, " + members[i+1]
		case renamed:
			return own
		case i == 0:
			return member
		case knownMember[member]:
			return member
		}
	}
	return ""
}

// knownMember contains the nested members that have the same name as a parameter.
var knownMember = map[string]bool{"pattern": true, "port": true, "input": true}

// wrongKey returns the error for an unknown key, with the known ones.
func wrongKey(tool string, data *schema.InvalidKeyData) string {
	text := fmt.Sprintf("%s has %q, which is not a key; nothing was sent.", ownName(tool, "key"), data.Key)
	if data.DidYouMean != nil {
		text += fmt.Sprintf(" Did you mean %q?", *data.DidYouMean)
	}
	return text + " Characters are typed with input. The keys are " + strings.Join(data.Allowed, ", ")
}

// advice contains, for each kind of error, the server's suggestions and their replacements.
var advice = func() map[schema.Kind]*strings.Replacer {
	byKind := map[schema.Kind]*strings.Replacer{}
	for kind, words := range map[schema.Kind][]string{
		schema.KindConfirmationDenied:  {"the person at the client", "the person at the host"},
		schema.KindDirectoryNotAllowed: {"or allow it (allowedDirectories of initialize)", "or have shelld-mcp started with it as -allow-dir"},
		schema.KindPolicyDenied: {
			"which denyCommands forbids", "which -deny-command of shelld-mcp forbids",
			"which is not in allowCommands", "which is not in -allow-command of shelld-mcp",
			"so denyCommands refuses", "so -deny-command of shelld-mcp refuses",
			"so allowCommands refuses", "so -allow-command of shelld-mcp refuses",
			", or start the program with argv", "",
		},
		schema.KindLimitExceeded: {
			"as many as limits.maxJobs allows; end one first, or raise the limit in initialize", "as many as there may be; end one first, or have shelld-mcp started with a higher -max-jobs",
			"with maxBytes, or raise the limit", "with a lower limit of output",
			"in its start, as env", "in CliSession, as env",
		},
		schema.KindLineTooLong:    {"or start the job in pipe mode", "or put it into a file that the program reads"},
		schema.KindInputQueueFull: {", or raise limits.inputQueueBytes", "", "over limits.inputQueueBytes", "over what may wait for a program to read it"},
		schema.KindNotInteractive: {
			"; start it with \"stdin\": \"open\", or in pty mode", "; start it with run_shell_command, CliSession or shell to type into it",
			": send text, or start it in pty mode to press keys", "; start it with run_shell_command, CliSession or shell to press keys",
			"; start it in pty mode, or read its output with job/read", "; its output is in the answer of the tool that has started it, and in its resource",
		},
		schema.KindPtyUnavailable: {"start the job with \"mode\": \"pipe\"", "use CliRun or execute_bash_command, which need none"},
		schema.KindShellBusy: {
			"interrupt it with job/signal INT, or leave ifBusy out to queue this command", "or interrupt it with {ctrl+c} of CliWrite",
			", or leave ifBusy out to queue this command", "",
			"with job/signal INT", "with {ctrl+c} of CliWrite",
			"job/write", "CliWrite",
			"job/screen shows", "CliRead shows",
		},
		schema.KindShellIntegrationUnavailable: {
			"start an interactive shell (job/start without command and argv) for job/exec, or type with job/write", "start a shell by CliSession without command, or type with CliWrite",
			"start that program itself if it is a shell (shell, or argv), or this shell without these files, for job/exec, or type with job/write", "start that program itself by CliSession, or type with CliWrite",
			"with job/write", "with CliWrite",
		},
		schema.KindOutputFileError: {
			"set persist.directory, or persist.mode to memory", "have shelld-mcp started with another -state-dir, or with -memory",
			"set persist.directory to a writable directory, or persist.mode to memory", "give another -state-dir, or -memory",
			"choose a directory that no other user can change, set persist.trustPath if you trust those users, or set persist.mode to memory", "give a -state-dir that nobody else can change, or -memory",
		},
	} {
		byKind[kind] = strings.NewReplacer(words...)
	}
	return byKind
}()

// explained translates an error from the server for a tool, without its kind; tool "": without a tool's names.
func explained(tool string, err error) error {
	refusal, ok := errors.AsType[*client.Error](err)
	lost, isLost := errors.AsType[*lostError](err)
	switch {
	case ok:
		return errors.New(inWords(tool, refusal))
	case isLost:
		return lost
	case errors.Is(err, client.ErrServerGone):
		return &lostError{"shelld-mcp is ending, and so are its jobs", err}
	}
	return err
}
