package rpc_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"shelld.dev/shelld/schema"
)

// unlisted returns a complaint if an error is not listed in the schema: for one of the methods that were called with
// its id, or for an unreadable message.
func unlisted(methods []string, f *failure) []string {
	var data struct{ Kind string }
	_ = json.Unmarshal(f.Data, &data) // The schema check reports errors.
	if len(methods) == 0 {
		methods = []string{""}
	}
	if slices.ContainsFunc(methods, func(m string) bool { return schema.MayAnswer(m, data.Kind) }) {
		return nil
	}
	return []string{fmt.Sprintf("%q is answered with the error %s, which x-shelld.errors of its schema does not list", methods, data.Kind)}
}

// A provocation is a sequence of messages that causes an error, by the method that gets it.
type provocation struct {
	method string
	kind   schema.Kind
	// The messages after initialize: METHOD PARAMS per line, in a session of its own, each sent when the one before is
	// answered. ROOT stands for the session's directory. The last line gets the error, or the one that begins with "?
	// ". The test sends the next message without waiting for that one; "cancel" withdraws it.
	messages string
	data     string // without kind; "*" stands for any value
}

// startReading starts a job on a terminal that reads lines without echo.
const startReading = `job/start {"command":"stty -echo; echo ready; exec cat","shell":"sh","name":"cat","wait":{"until":[{"pattern":"ready"}]}}` + "\n"

// startSleeping starts a job on pipes that reads nothing.
const startSleeping = `job/start {"argv":["sleep","60"],"mode":"pipe","name":"sleep"}` + "\n"

// startEnding starts a job that ends at once.
const startEnding = `job/start {"argv":["true"],"name":"gone","wait":{"until":[{"closed":true}]}}` + "\n"

// startDeaf starts a job that never reads its input pipe.
const startDeaf = `job/start {"argv":["sleep","60"],"mode":"pipe","stdin":"open","name":"deaf"}` + "\n"

// provocations has each error that a method lists. Those that any request may get are in TestErrorsOfAnyRequest.
var provocations = []provocation{
	{"initialize", schema.KindUnsupportedVersion, `initialize {"protocolVersion":"0"}`, `{"supported":["1"]}`},
	{"initialize", schema.KindBadWorkingDirectory, `initialize {"rootDirectory":"ROOT/nowhere"}`, `{"path":"ROOT/nowhere"}`},

	{"initialize", schema.KindOutputFileError, `initialize {"options":{"persist":{"directory":"ROOT/plain"}}}`, `{"path":"ROOT/plain","reason":"not a directory"}`},

	{"job/start", schema.KindCommandNotFound, `job/start {"argv":["no-such-program-at-all"]}`, `{"command":"no-such-program-at-all","suggestions":"*"}`},
	{"job/start", schema.KindPermissionDenied, `job/start {"argv":["ROOT/plain"]}`, `{"path":"ROOT/plain"}`},
	{"job/start", schema.KindBadWorkingDirectory, `job/start {"command":"true","cwd":"nowhere"}`, `{"path":"ROOT/nowhere"}`},
	{"job/start", schema.KindDirectoryNotAllowed, `job/start {"command":"true","cwd":"/"}`, `{"path":"/","allowed":["ROOT"]}`},
	{"job/start", schema.KindPolicyDenied, `job/start {"command":"true; denied"}`, `{"action":"start","reason":"denyCommands","root":"denied"}`},
	{"job/start", schema.KindOutputFileError, `job/start {"command":"true","mode":"pipe","stdoutFile":"nowhere/x"}`, `{"path":"ROOT/nowhere/x","reason":"no such file or directory"}`},
	{"job/start", schema.KindNameInUse, startSleeping + `job/start {"command":"true","name":"sleep"}`, `{"name":"sleep","handle":1}`},
	{"job/start", schema.KindInvalidPattern, `job/start {"command":"true","watch":[{"pattern":"a("}]}`, `{"pattern":"a(","position":"*","pointer":"/watch/0/pattern"}`},
	{"job/start", schema.KindLimitExceeded, startSleeping + startSleeping[:len(startSleeping)-len(`,"name":"sleep"}`+"\n")] + "}\n" + `job/start {"command":"true"}`, `{"limit":"maxJobs","max":2,"retryable":true}`},
	{"job/start", schema.KindCanceled, `? job/start {"argv":["sleep","60"],"name":"s","wait":{"until":[]}}` + "\n" + `job/get {"handle":"s"}` + "\ncancel", `{"handle":1,"outcome":"*"}`},

	{"job/run", schema.KindCommandNotFound, `job/run {"command":"true","shell":"no-such-place/sh"}`, `{"command":"no-such-place/sh","suggestions":"*"}`},
	{"job/run", schema.KindPermissionDenied, `job/run {"argv":["./plain"]}`, `{"path":"ROOT/plain"}`},
	{"job/run", schema.KindBadWorkingDirectory, `job/run {"command":"true","cwd":"plain"}`, `{"path":"ROOT/plain"}`},
	{"job/run", schema.KindPolicyDenied, `job/run {"argv":["env","denied"]}`, `{"action":"start","reason":"denyCommands","root":"denied"}`},
	{"job/run", schema.KindDirectoryNotAllowed, `job/run {"command":"cat","stdin":{"file":"/etc/passwd"}}`, `{"path":"/etc/passwd","allowed":["ROOT"]}`},
	{"job/run", schema.KindOutputFileError, `job/run {"command":"true","stderrFile":"."}`, `{"path":"ROOT/.","reason":"is a directory"}`},
	{"job/run", schema.KindNameInUse, startSleeping + `job/run {"command":"true","name":"sleep"}`, `{"name":"sleep","handle":1}`},
	{"job/run", schema.KindInvalidPattern, `job/run {"command":"true","watch":[{"pattern":"[z-a]"}]}`, `{"pattern":"[z-a]","position":"*","pointer":"/watch/0/pattern"}`},
	{"job/run", schema.KindCanceled, `? job/run {"argv":["sleep","60"],"name":"s"}` + "\n" + `job/get {"handle":"s"}` + "\ncancel", `{"handle":1}`},

	{"job/write", schema.KindJobNotFound, startSleeping + `job/write {"handle":9,"input":"x"}`, `{"handle":9,"jobs":[{"handle":1,"name":"sleep","status":"running","streams":"*"}]}`},
	{"job/write", schema.KindJobExited, startEnding + `job/write {"handle":"gone","input":"x"}`, `{"handle":1,"exit":{"code":0,"signal":null,"coreDumped":false,"reason":"exited"}}`},
	{"job/write", schema.KindNotInteractive, startSleeping + `job/write {"handle":"sleep","input":"x"}`, `{"handle":1}`},
	{"job/write", schema.KindInvalidKey, startReading + `job/write {"handle":"cat","keys":["Entr"]}`, `{"key":"Entr","didYouMean":"Enter","allowed":"*"}`},
	{"job/write", schema.KindInputNotExpected, startReading + `job/write {"handle":"cat","input":"x","ifWaiting":"1"}`, `{"handle":1}`},
	{"job/write", schema.KindLineTooLong, startReading + `job/write {"handle":"cat","input":"` + long4096 + `"}`, `{"handle":1,"max":4095,"bytes":4096}`},
	{"job/write", schema.KindInputQueueFull, startReading + `job/write {"handle":"cat","input":"` + strings.Repeat(`x\n`, 2049) + `"}`, `{"handle":1,"max":4096}`},
	{"job/write", schema.KindInvalidPattern, startReading + `job/write {"handle":"cat","input":"x","wait":{"until":[{"pattern":"*"}]}}`, `{"pattern":"*","position":0,"pointer":"/wait/until/0/pattern"}`},
	{"job/write", schema.KindShellIntegrationUnavailable, startReading + `job/write {"handle":"cat","input":"x","wait":{"until":[{"command":1}]}}`, `{"handle":1}`},
	{"job/write", schema.KindCanceled, startDeaf + `? job/write {"handle":"deaf","input":"x","wait":{"until":[]}}` + "\n" + `job/get {"handle":"deaf"}` + "\ncancel", `{"handle":1,"outcome":"*","bytesWritten":1}`},

	{"job/read", schema.KindJobNotFound, `job/read {"handle":"nobody"}`, `{"handle":"nobody","jobs":[]}`},
	{"job/read", schema.KindCanceled, startSleeping + `? job/read {"handle":"sleep","stream":"stdout","waitMs":60000}` + "\n" + `job/get {"handle":"sleep"}` + "\ncancel", `{"handle":1}`},

	{"job/search", schema.KindJobNotFound, `job/search {"handle":"nobody","literal":"x"}`, `{"handle":"nobody","jobs":[]}`},
	{"job/search", schema.KindInvalidPattern, startSleeping + `job/search {"handle":"sleep","pattern":"a)"}`, `{"pattern":"a)","position":1,"pointer":"/pattern"}`},

	{"job/wait", schema.KindJobNotFound, `job/wait {"handle":1,"until":[]}`, `{"handle":1,"jobs":[]}`},
	{"job/wait", schema.KindInvalidPattern, startSleeping + `job/wait {"handle":1,"until":[{"exit":true},{"pattern":"ab)"}]}`, `{"pattern":"ab)","position":2,"pointer":"/until/1/pattern"}`},
	{"job/wait", schema.KindShellIntegrationUnavailable, startSleeping + `job/wait {"handle":1,"until":[{"command":1}]}`, `{"handle":1}`},
	{"job/wait", schema.KindCanceled, startSleeping + `? job/wait {"handle":1,"until":[]}` + "\n" + `job/get {"handle":1}` + "\ncancel", `{"handle":1,"outcome":"*"}`},

	{"job/exec", schema.KindJobNotFound, `job/exec {"handle":1,"command":"true"}`, `{"handle":1,"jobs":[]}`},
	{"job/exec", schema.KindJobExited, startEnding + `job/exec {"handle":"gone","command":"true"}`, `{"handle":1,"exit":"*"}`},
	{"job/exec", schema.KindShellIntegrationUnavailable, startReading + `job/exec {"handle":"cat","command":"true"}`, `{"handle":1}`},
	{"job/exec", schema.KindInvalidPattern, startSleeping + `job/exec {"handle":1,"command":"true","wait":{"until":[{"pattern":"("}]}}`, `{"pattern":"(","position":"*","pointer":"/wait/until/0/pattern"}`},
	{"job/history", schema.KindJobNotFound, `job/history {"handle":"nobody"}`, `{"handle":"nobody","jobs":[]}`},
	{"job/history", schema.KindShellIntegrationUnavailable, startSleeping + `job/history {"handle":1}`, `{"handle":1}`},

	{"job/screen", schema.KindJobNotFound, `job/screen {"handle":"nobody"}`, `{"handle":"nobody","jobs":[]}`},
	{"job/screen", schema.KindNotInteractive, startSleeping + `job/screen {"handle":"sleep"}`, `{"handle":1}`},

	{"job/get", schema.KindJobNotFound, `job/get {"handle":1}`, `{"handle":1,"jobs":[]}`},
	{"job/kill", schema.KindJobNotFound, `job/kill {"handle":1}`, `{"handle":1,"jobs":[]}`},
	{"job/kill", schema.KindCanceled, `job/start {"command":"trap '' TERM HUP; echo ready; while :; do sleep 60; done","name":"j","wait":{"until":[{"pattern":"ready"}]}}` + "\n" +
		`? job/kill {"handle":"j","graceMs":60000}` + "\n" + `job/get {"handle":"j"}` + "\ncancel", `{"handle":1}`},
	{"job/signal", schema.KindJobNotFound, `job/signal {"handle":1,"signal":"TERM"}`, `{"handle":1,"jobs":[]}`},
	{"job/signal", schema.KindJobExited, startEnding + `job/signal {"handle":"gone","signal":"TERM"}`, `{"handle":1,"exit":"*"}`},
	{"job/resize", schema.KindJobNotFound, `job/resize {"handle":1,"cols":80,"rows":24}`, `{"handle":1,"jobs":[]}`},
	{"job/resize", schema.KindJobExited, startEnding + `job/resize {"handle":"gone","cols":80,"rows":24}`, `{"handle":1,"exit":"*"}`},
	{"job/resize", schema.KindNotInteractive, startSleeping + `job/resize {"handle":"sleep","cols":80,"rows":24}`, `{"handle":1}`},
	{"job/watch", schema.KindJobNotFound, `job/watch {"handle":1,"pattern":"x"}`, `{"handle":1,"jobs":[]}`},
	{"job/watch", schema.KindInvalidPattern, startSleeping + `job/watch {"handle":1,"pattern":"?"}`, `{"pattern":"?","position":0,"pointer":"/pattern"}`},
	{"job/unwatch", schema.KindJobNotFound, `job/unwatch {"handle":1,"watchId":1}`, `{"handle":1,"jobs":[]}`},
	{"job/subscribe", schema.KindJobNotFound, `job/subscribe {"handle":1}`, `{"handle":1,"jobs":[]}`},
	{"job/unsubscribe", schema.KindJobNotFound, `job/unsubscribe {"handle":1}`, `{"handle":1,"jobs":[]}`},
	{"env/get", schema.KindJobNotFound, `env/get {"name":"A","handle":1}`, `{"handle":1,"jobs":[]}`},
	{"env/list", schema.KindJobNotFound, `env/list {"handle":"nobody"}`, `{"handle":"nobody","jobs":[]}`},
	{"env/set", schema.KindJobNotFound, `env/set {"name":"A","value":"b","handle":1}`, `{"handle":1,"jobs":[]}`},
	{"env/set", schema.KindUnsupported, startSleeping + `env/set {"name":"A","value":"b","handle":"sleep"}`, `{"what":"handle","pointer":"/handle"}`},
	{"env/set", schema.KindLimitExceeded, `env/set {"name":"A","value":"` + long128K + `"}`, `{"limit":"variableBytes","max":131070}`},
	{"env/unset", schema.KindJobNotFound, `env/unset {"name":"A","handle":1}`, `{"handle":1,"jobs":[]}`},
	{"env/unset", schema.KindUnsupported, startSleeping + `env/unset {"name":"A","handle":1}`, `{"what":"handle","pointer":"/handle"}`},

	{"job/remove", schema.KindJobNotFound, `job/remove {"handle":1}`, `{"handle":1,"jobs":[]}`},
	{"job/remove", schema.KindJobRunning, startSleeping + `job/remove {"handle":1}`, `{"handle":1}`},

	{"job/start", schema.KindUnsupported, `job/start {"command":"true","onDetach":"keep"}`, `{"what":"onDetach","pointer":"/onDetach"}`},
	{"job/run", schema.KindUnsupported, `job/run {"command":"true","detachGraceMs":1}`, `{"what":"detachGraceMs","pointer":"/detachGraceMs"}`},
	{"job/write", schema.KindUnsupported, startReading + `job/write {"handle":"cat","input":"x","key":"k"}`, `{"what":"key","pointer":"/key"}`},
	{"job/exec", schema.KindUnsupported, startReading + `job/exec {"handle":"cat","command":"true","key":"k"}`, `{"what":"key","pointer":"/key"}`},
	{"job/kill", schema.KindUnsupported, startSleeping + `job/kill {"handle":1,"key":"k"}`, `{"what":"key","pointer":"/key"}`},
	{"job/signal", schema.KindUnsupported, startSleeping + `job/signal {"handle":1,"signal":"TERM","key":"k"}`, `{"what":"key","pointer":"/key"}`},
	{"job/resize", schema.KindUnsupported, startReading + `job/resize {"handle":"cat","cols":80,"rows":24,"key":"k"}`, `{"what":"key","pointer":"/key"}`},
	{"job/remove", schema.KindUnsupported, startEnding + `job/remove {"handle":1,"key":"k"}`, `{"what":"key","pointer":"/key"}`},
	{"job/subscribe", schema.KindUnsupported, startSleeping + `job/subscribe {"handle":1,"after":0}`, `{"what":"after","pointer":"/after"}`},
	{"job/set", schema.KindMethodNotFound, startSleeping + `job/set {"handle":1,"onDetach":"keep"}`, `{"method":"job/set","didYouMean":"job/get"}`},
	{"job/takeInput", schema.KindMethodNotFound, startReading + `job/takeInput {"handle":1}`, `{"method":"job/takeInput"}`},
	{"job/giveInput", schema.KindMethodNotFound, startReading + `job/giveInput {"handle":1}`, `{"method":"job/giveInput"}`},
	{"session/get", schema.KindMethodNotFound, `session/get {}`, `{"method":"session/get"}`},
	{"session/set", schema.KindMethodNotFound, `session/set {}`, `{"method":"session/set"}`},
	{"session/detach", schema.KindMethodNotFound, `session/detach {}`, `{"method":"session/detach"}`},
	{"session/end", schema.KindMethodNotFound, `session/end {}`, `{"method":"session/end"}`},
}

// keyedTwice returns two requests with the same key, of which the second wants something else.
func keyedTwice(method, params, other string) string {
	return method + ` {"key":"k",` + params + "}\n" + method + ` {"key":"k",` + other + "}"
}

// sessionProvocations is the same for a session that clients can come back to.
var sessionProvocations = []provocation{
	{"job/start", schema.KindKeyConflict, keyedTwice("job/start", `"command":"true"`, `"command":"false"`), `{"key":"k"}`},
	{"job/run", schema.KindKeyConflict, `job/start {"key":"k","command":"true"}` + "\n" + `job/run {"key":"k","command":"true"}`, `{"key":"k"}`},
	{"job/write", schema.KindKeyConflict, startReading + keyedTwice("job/write", `"handle":"cat","input":"x"`, `"handle":"cat","input":"y"`), `{"key":"k"}`},
	{"job/exec", schema.KindKeyConflict, startReading + `job/resize {"key":"k","handle":"cat","cols":90,"rows":30}` + "\n" + `job/exec {"key":"k","handle":"cat","command":"true"}`, `{"key":"k"}`},
	{"job/kill", schema.KindKeyConflict, startSleeping + keyedTwice("job/kill", `"handle":1`, `"handle":1,"graceMs":1`), `{"key":"k"}`},
	{"job/signal", schema.KindKeyConflict, startSleeping + keyedTwice("job/signal", `"handle":1,"signal":"CONT"`, `"handle":1,"signal":"TERM"`), `{"key":"k"}`},
	{"job/resize", schema.KindKeyConflict, startReading + keyedTwice("job/resize", `"handle":"cat","cols":90,"rows":30`, `"handle":"cat","cols":90,"rows":31`), `{"key":"k"}`},
	{"job/remove", schema.KindKeyConflict, startEnding + keyedTwice("job/remove", `"handle":1`, `"handle":1,"keepFiles":true`), `{"key":"k"}`},
	{"env/set", schema.KindKeyConflict, keyedTwice("env/set", `"name":"A","value":"1"`, `"name":"A","value":"2"`), `{"key":"k"}`},
	{"env/unset", schema.KindKeyConflict, keyedTwice("env/unset", `"name":"A"`, `"name":"B"`), `{"key":"k"}`},

	{"job/set", schema.KindJobNotFound, `job/set {"handle":1}`, `{"handle":1,"jobs":[]}`},
	{"job/set", schema.KindJobExited, startEnding + `job/set {"handle":"gone","onDetach":"keep"}`, `{"handle":1,"exit":"*"}`},
	{"job/takeInput", schema.KindJobNotFound, `job/takeInput {"handle":1}`, `{"handle":1,"jobs":[]}`},
	{"job/takeInput", schema.KindJobExited, startEnding + `job/takeInput {"handle":"gone"}`, `{"handle":1,"exit":"*"}`},
	{"job/takeInput", schema.KindNotInteractive, startSleeping + `job/takeInput {"handle":1,"cols":80}`, `{"handle":1}`},
	{"job/giveInput", schema.KindJobNotFound, `job/giveInput {"handle":1}`, `{"handle":1,"jobs":[]}`},
	{"job/giveInput", schema.KindJobExited, startEnding + `job/giveInput {"handle":"gone"}`, `{"handle":1,"exit":"*"}`},
	{"initialize", schema.KindSessionNotFound, `initialize {"session":{"attach":"another"}}`, `{"session":"another"}`},
	{"initialize", schema.KindPolicyDenied, `initialize {"session":{"token":"wrong"}}`, `{"action":"initialize","reason":"token"}`},
}

// provokedElsewhere lists the errors that need more than a sequence of messages, or another server than one in this
// process. Each entry has the test that provokes the error, which must exist, and the reason.
var provokedElsewhere = map[string]string{
	"job/subscribe jobExited":               ". TestSubscribeToClosed: job/closed must have been sent",
	"job/write policyDenied":                ". TestSecretInputClientOnly: a program must have switched echo off",
	"job/start confirmationDenied":          ". TestConfirmDenied: a person is asked",
	"job/run confirmationDenied":            ". TestConfirmDenied: as above",
	"job/write confirmationDenied":          ". TestConfirmDenied: as above",
	"job/kill confirmationDenied":           ". TestConfirmDenied: as above",
	"job/signal confirmationDenied":         ". TestConfirmDenied: as above",
	"job/kill policyDenied":                 ". TestConfirmNobody: it takes another initialize",
	"job/signal policyDenied":               ". TestConfirmNobody: as above",
	"job/signal canceled":                   ". TestConfirmCancelled: a person is asked",
	"env/get canceled":                      ". TestCancelWhileTheLoginShellIsAsked: a login shell that does not answer",
	"env/list canceled":                     ". TestCancelWhileTheLoginShellIsAsked: as above",
	"platform/get canceled":                 ". TestCancelWhileTheLoginShellIsAsked: as above",
	"job/screen canceled":                   "../jobs TestScreenIsCancelled: it is drawn too soon to be cancelled in time",
	"job/search canceled":                   "../jobs TestSearchCanceled: it is over too soon to be cancelled in time",
	"job/search limitExceeded":              ". TestSearchPatternFails: it takes output over which a pattern explodes",
	"job/exec shellBusy":                    ". TestExecBusy: it takes a shell with integration",
	"job/exec canceled":                     ". TestExecCancelled: as above",
	"job/exec confirmationDenied":           ". TestExecConfirmed: as above, and a person",
	"env/get shellBusy":                     ". TestExecEnvironment: it takes a shell with integration",
	"env/list shellBusy":                    ". TestExecEnvironment: as above",
	"env/get shellIntegrationUnavailable":   ". TestExecReplaced: as above",
	"env/list shellIntegrationUnavailable":  ". TestExecReplaced: as above",
	"env/set canceled":                      ". TestExecQuestionCancelled: a shell with integration must not answer",
	"env/unset canceled":                    ". TestExecQuestionCancelled: as above",
	"env/set confirmationDenied":            ". TestVariableConfirmed: as above, and a person",
	"env/unset confirmationDenied":          ". TestVariableConfirmed: as above",
	"env/set policyDenied":                  ". TestVariableConfirmed: it takes more than a person reads",
	"env/set shellBusy":                     ". TestExecEnvironment: as above",
	"env/unset shellBusy":                   ". TestExecEnvironment: as above",
	"env/set shellIntegrationUnavailable":   ". TestExecReplaced: as above",
	"env/unset shellIntegrationUnavailable": ". TestExecReplaced: as above",
	"job/remove outputFileError":            "../jobs TestRemovalOfWhatIsNotOurs: a foreign file in the place of the job's",
	"job/read outputFileError":              "../cmd/shelld TestReadUnreadable: a file that nobody can open",
	"job/search outputFileError":            "../cmd/shelld TestReadUnreadable: as above",
	"initialize resourceUnavailable":        "../cmd/shelld TestTooManyAllowedDirectories: a limit of a process",
	"job/start resourceUnavailable":         "../cmd/shelld TestServerShortOfDescriptors: a limit of a process",
	"job/run resourceUnavailable":           "../cmd/shelld TestServerShortOfDescriptors: as above",
	"job/start ptyUnavailable":              "../cmd/shelld TestServerWithoutTerminals: a sandbox of a process",
	"job/run ptyUnavailable":                "../cmd/shelld TestServerWithoutTerminals: as above",
	"* internalError":                       "../cmd/shelld TestServerSurvivesInternalError: what nobody has foreseen",
	"job/subscribe resumeGap":               ". TestResumeGap: it takes more events than are kept",
	"job/exec policyDenied":                 ". TestViewer: it takes a second client",
	"job/resize policyDenied":               ". TestViewer: as above",
	"job/remove policyDenied":               ". TestViewer: as above",
	"job/watch policyDenied":                ". TestViewer: as above",
	"job/unwatch policyDenied":              ". TestViewer: as above",
	"job/set policyDenied":                  ". TestViewer: as above",
	"job/takeInput policyDenied":            ". TestViewer: as above",
	"job/giveInput policyDenied":            ". TestViewer: as above",
	"env/unset policyDenied":                ". TestViewer: as above",
	"job/write inputHeld":                   ". TestInputHeld: it takes a second client",
	"job/resize inputHeld":                  ". TestInputHeld: as above",
	"job/takeInput inputHeld":               ". TestInputHeld: as above",
	"job/giveInput inputHeld":               ". TestInputHeld: as above",
	"job/exec inputHeld":                    ". TestInputHeldOfShell: as above, and a shell with integration",
	"env/set inputHeld":                     ". TestInputHeldOfShell: as above",
	"env/unset inputHeld":                   ". TestInputHeldOfShell: as above",
	"session/end policyDenied":              ". TestViewer: as above",
	"session/set policyDenied":              ". TestDriverOwnsNothing: as above",
	"job/read resourceUnavailable":          "../cmd/shelld TestReadShortOfDescriptors: as above",
	"job/search resourceUnavailable":        "../cmd/shelld TestReadShortOfDescriptors: as above",
}

// provokedNowhere lists the errors that no test can provoke on every machine, with the reasons.
var provokedNowhere = map[string]string{
	"job/wait unsupported": "every condition is seen where jobs can be started on terminals, but for port, which TestPortsUnsupported asks for",
	"job/history canceled": "it is answered in the job's next turn",
}

// notBuilt lists the kinds of the protocol that this server never sends, with the reasons.
var notBuilt = map[schema.Kind]string{}

// TestEveryKindIsProvoked: each error that a method lists is caused, with the data of its kind. The list is complete:
// the checker of every session ensures that.
func TestEveryKindIsProvoked(t *testing.T) {
	seen := map[string]bool{}
	for i, p := range slices.Concat(provocations, sessionProvocations) {
		name := p.method + " " + string(p.kind)
		if seen[name] {
			t.Errorf("%s is there twice", name)
		}
		seen[name] = true
		t.Run(name, func(t *testing.T) {
			if i < len(provocations) {
				p.run(t, open(t))
			} else {
				p.run(t, share(t).connect(-1, -1))
			}
		})
	}
	for _, m := range schema.Methods() {
		for _, kind := range m.Errors {
			if m.From == "server" {
				continue // the client may answer with it
			}
			if _, elsewhere := provokedElsewhere[m.Name+" "+kind]; elsewhere || anyRequest[schema.Kind(kind)] && !seen[m.Name+" "+kind] {
				continue
			}
			if _, nowhere := provokedNowhere[m.Name+" "+kind]; !nowhere && !seen[m.Name+" "+kind] {
				t.Errorf("%s lists %s, and nothing in provocations provokes it", m.Name, kind)
			}
		}
	}
}

func (p *provocation) run(t *testing.T, s *session) {
	root := t.TempDir()
	makeFile(t, root, "plain", "")
	if p.method != "initialize" {
		s.initialize("rootDirectory", root, "allowedDirectories", []string{root},
			"options", obj{"denyCommands": []string{"denied"}, "limits": obj{"maxJobs": 2, "inputQueueBytes": 4096, "shutdownGraceMs": 0}})
	}
	lines := strings.Split(strings.ReplaceAll(p.messages, "ROOT", root), "\n")
	var asked *call
	for i, line := range lines {
		ask, pending := strings.CutPrefix(line, "? ")
		method, params, _ := strings.Cut(ask, " ")
		switch {
		case line == "cancel":
			asked.withdraw()
		case pending || asked == nil && i == len(lines)-1:
			asked = s.begin(method, json.RawMessage(params))
		default:
			if a := s.begin(method, json.RawMessage(params)).answer(); a.Error != nil {
				t.Fatalf("%s: %+v", line, a.Error)
			}
		}
	}
	a := asked.answer()
	if a.Error == nil || asked.method != p.method {
		t.Fatalf("%s is answered with %s", asked.method, a.Result)
	}
	a.Error.is(t, p.kind)
	want := strings.Replace(strings.ReplaceAll(p.data, "ROOT", root), "{", `{"kind":"`+string(p.kind)+`",`, 1)
	if bad := differs("data", plainJSON(t, a.Error.Data), plainJSON(t, []byte(want))); bad != "" {
		t.Errorf("%s: %s", a.Error.Data, bad)
	}
}

func plainJSON(t *testing.T, text []byte) (v any) {
	t.Helper()
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return v
}

// differs returns the place and the difference between two values. It includes unexpected members.
func differs(at string, got, want any) string {
	g, isObject := got.(obj)
	w, wantsObject := want.(obj)
	switch {
	case want == "*":
		return ""
	case !isObject || !wantsObject:
		if list, ok := want.([]any); ok && len(list) == 1 && len(got.([]any)) == 1 {
			return differs(at+"/0", got.([]any)[0], list[0])
		}
		if encode(got) != encode(want) {
			return fmt.Sprintf("%s is %s, want %s", at, encode(got), encode(want))
		}
		return ""
	case !slices.Equal(slices.Sorted(maps.Keys(g)), slices.Sorted(maps.Keys(w))):
		return fmt.Sprintf("%s has the members %v, want %v", at, slices.Sorted(maps.Keys(g)), slices.Sorted(maps.Keys(w)))
	}
	for name := range w {
		if bad := differs(at+"/"+name, g[name], w[name]); bad != "" {
			return bad
		}
	}
	return ""
}

// anyRequest are the kinds that any request may get.
var anyRequest = map[schema.Kind]bool{
	schema.KindInvalidRequest: true, schema.KindInvalidParams: true, schema.KindInternalError: true,
	schema.KindLimitExceeded: true, schema.KindShuttingDown: true, schema.KindNotInitialized: true,
}

// eachMethod sends a request of every method, and checks that each is refused with a kind.
func (s *session) eachMethod(kind schema.Kind, params any, but ...string) {
	s.t.Helper()
	for _, m := range schema.Methods() {
		if m.Kind == "request" && m.From == "client" && !slices.Contains(but, m.Name) {
			refused[none](s.beginBad(m.Name, params), kind)
		}
	}
}

// ofSessions are the methods that a server without sessions does not have.
var ofSessions = []string{"job/set", "job/takeInput", "job/giveInput", "session/get", "session/set", "session/detach", "session/end"}

// TestErrorsOfAnyRequest: every method returns each kind that does not depend on the method.
func TestErrorsOfAnyRequest(t *testing.T) {
	s := open(t)
	s.eachMethod(schema.KindNotInitialized, nil, "initialize")
	// initialize accepts unknown members, and is not tested in the second round.
	refused[none](s.begin("initialize", obj{"rootDirectory": "relative"}), schema.KindInvalidParams)
	s.initialize("options", obj{"limits": obj{"shutdownGraceMs": 60_000}})
	refused[none](s.begin("initialize", nil), schema.KindInvalidRequest)
	s.eachMethod(schema.KindInvalidParams, obj{"no such member": 1}, append(ofSessions, "initialize")...)
	over := filepath.Join(t.TempDir(), "over")
	h := s.pipe(`trap "" TERM; echo ready; until [ -e "$OVER" ]; do sleep 0.05; done`, "env", obj{"OVER": over})
	s.see(h, "ready")
	waits := s.begin("job/wait", obj{"handle": h, "until": []obj{}})
	other := share(t).join("")
	other.eachMethod(schema.KindInvalidParams, obj{"no such member": 1}, "initialize")
	down := s.begin("shutdown", nil)
	s.eachMethod(schema.KindShuttingDown, nil)
	if err := os.WriteFile(over, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if d := refused[schema.ShuttingDownData](waits, schema.KindShuttingDown); d.Outcome == nil {
		t.Error("a wait that the shutdown ends has no outcome")
	}
	result[schema.ShutdownResult](down)
	s.eachMethod(schema.KindInvalidRequest, nil)
	s.send(`{"jsonrpc":"2.0","method":"exit"}`)
	if clean, err := s.end(); !clean || err != nil {
		t.Errorf("the server ended: clean %v, error %v", clean, err)
	}
}

// TestAnswerTooLong: the request takes effect, but its answer does not fit.
func TestAnswerTooLong(t *testing.T) {
	s := start(t, "options", obj{"events": []string{}, "limits": obj{"maxMessageBytes": 1 << 20}})
	h := s.pipe(`printf '%060000dy' 0; cat`, "stdin", "open")
	groups := strings.Repeat("(", 20) + "0+" + strings.Repeat(")", 20) + "y" // each of them matches 60,000 bytes
	d := refused[schema.LimitExceededData](s.begin("job/wait", obj{"handle": h, "until": until(obj{"pattern": groups})}), schema.KindLimitExceeded)
	equal(t, "limit", d.Limit, "maxMessageBytes")
	equal(t, "max", d.Max, 1<<20)
}

// TestNoKindIsForgotten: each kind of the protocol is either provoked by a test, or is not built and not mentioned by
// any part of the server.
func TestNoKindIsForgotten(t *testing.T) {
	provoked := map[schema.Kind]bool{schema.KindParseError: true, schema.KindMethodNotFound: true} // TestMalformed, TestUnknown
	maps.Copy(provoked, anyRequest)
	for _, p := range slices.Concat(provocations, sessionProvocations) {
		provoked[p.kind] = true
	}
	for where, test := range provokedElsewhere {
		_, kind, _ := strings.Cut(where, " ")
		provoked[schema.Kind(kind)] = true
		dir, rest, _ := strings.Cut(test, " ")
		name, _, _ := strings.Cut(rest, ":")
		if !mentions(t, dir, "_test.go", `func `+name+`\(`) {
			t.Errorf("%s: there is no %s in %s", where, name, dir)
		}
	}
	for _, k := range schema.ErrorKinds() {
		kind := schema.Kind(k.Kind)
		why := notBuilt[kind]
		if provoked[kind] == (why != "") {
			t.Errorf("%s: provoked %v, not built because %q", kind, provoked[kind], why)
		}
		if why == "" {
			continue
		}
		for _, m := range schema.Methods() {
			if schema.MayAnswer(m.Name, k.Kind) {
				t.Errorf("%s is said not to be built (%s), and %s lists it", kind, why, m.Name)
			}
		}
		constant := "Kind" + strings.ToUpper(k.Kind[:1]) + k.Kind[1:]
		for _, dir := range []string{".", "../cmd/shelld"} {
			if mentions(t, dir, ".go", `\b`+constant+`\b|"`+k.Kind+`"`) {
				t.Errorf("%s is said not to be built (%s), and %s speaks of it: provoke it here", kind, why, dir)
			}
		}
	}
}

// mentions reports whether a file of a directory matches a pattern. Test files count only if suffix asks for them.
func mentions(t *testing.T, dir, suffix, pattern string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"+suffix))
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no files *%s in %s: %v", suffix, dir, err)
	}
	re := regexp.MustCompile(pattern)
	return slices.ContainsFunc(files, func(file string) bool {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return (suffix == "_test.go" || !strings.HasSuffix(file, "_test.go")) && re.Match(b)
	})
}
