package jobs

import (
	"strings"
	"testing"
)

// A function named builtin disables the server's hooks. The error says so, and its remedy works.
func TestExecBesideAFunctionNamedBuiltin(t *testing.T) {
	for _, name := range execShells[:2] { // fish has no such functions
		t.Run(name, func(t *testing.T) {
			m := startReal(t, Options{})
			j := startShell(t, m, name, nil)
			doExec(t, j, "true")
			doExec(t, j, "builtin() { :; }")
			e := refused(t, askExec(t, j, ExecOptions{Command: "echo lost"}), CodeShellBusy)
			if !strings.Contains(e.Message, "unset -f builtin") || strings.Contains(e.Message, "ifBusy") {
				t.Error(e.Message)
			}
			for _, in := range []Input{{Keys: []string{"Ctrl-C"}}, {Text: "unset -f builtin\r"}} {
				in.Wait = execWait(watchdog, Condition{Kind: UntilInput, Input: InputCondition{MinConfidence: "likely"}})
				w, err := j.Write(in)
				if err != nil {
					t.Fatal(err)
				}
				must(t, w)
			}
			if r, out := doExec(t, j, "echo one"); out != "one\n" {
				t.Errorf("%q: %+v", out, r.Outcome)
			}
		})
	}
}
