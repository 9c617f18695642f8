package jobs

import (
	"strings"
	"testing"
)

// If the line editor of a shell is off, the errors say so and how to switch it on. Then the shell takes commands again.
func TestExecWithoutEditor(t *testing.T) {
	for name, say := range map[string]struct{ off, on string }{
		"bash": {"set +o emacs; true", "set -o emacs"}, "zsh": {"unsetopt zle", "setopt zle"},
	} {
		t.Run(name, func(t *testing.T) {
			m := startReal(t, Options{})
			j := startShell(t, m, name, nil)
			for range 2 {
				if r, _ := doExec(t, j, say.off); deref(t, r.Command.ExitCode) != 0 {
					t.Fatalf("%+v", r)
				}
				for range 2 {
					p, err := j.Exec(ExecOptions{Command: "echo never", Wait: execWait(watchdog)})
					if err != nil {
						t.Fatal(err)
					}
					if e := refused(t, p, CodeShellIntegrationUnavailable); !strings.Contains(e.Message, "line editor is off") || !strings.Contains(e.Message, `"`+say.on+`"`) {
						t.Error(e)
					}
				}
				if e := refused(t, j.Variables(), CodeShellIntegrationUnavailable); !strings.Contains(e.Message, "line editor is off") {
					t.Error(e)
				}
				w, err := j.Write(Input{Text: say.on + "\r"})
				if err != nil {
					t.Fatal(err)
				}
				must(t, w)
				if r, out := doExec(t, j, "echo one"); out != "one\n" {
					t.Errorf("%q: %+v", out, r)
				}
				must(t, j.Variables())
			}
			if all := must(t, j.History()); len(all) != 6 || !all[1].Typed {
				t.Errorf("%+v", all)
			}
		})
	}
}

// If the server's key bindings are erased from fish, they are bound again.
func TestExecWithoutKeys(t *testing.T) {
	m := startReal(t, Options{})
	j := startShell(t, m, "fish", nil)
	for range 2 {
		for _, command := range []string{"bind --erase --all", "fish_vi_key_bindings", "bind --erase --all --preset; bind --erase --all", "fish_default_key_bindings"} {
			doExec(t, j, command)
			if r, out := doExec(t, j, "echo one"); out != "one\n" {
				t.Errorf("%s: %q: %+v", command, out, r)
			}
			must(t, j.Variables())
		}
	}
}
