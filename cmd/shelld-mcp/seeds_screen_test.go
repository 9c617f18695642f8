package main

import (
	"fmt"
	"strings"
	"testing"

	"shelld.dev/shelld/schema"
)

// screenSeeds are the tests of read_shell and write_to_shell.
var screenSeeds = map[string]func(*testing.T){
	"read_shell/pid": func(t *testing.T) {
		h := startHost(t, nil, "-confirm", "none")
		var r runShellResult
		h.call("run_shell_command", args{"command": "printf 'one\\n\\033[3;5Hthere'; exec cat", "ai_callback_pattern": "there"}, &r)
		for _, n := range []int64{r.PID, r.Handle} {
			var s screenResult
			if got := h.call("read_shell", args{"pid": n}, &s); got != lines("one", "", "    there") || s.CursorRow != 2 || s.CursorCol != 9 {
				t.Errorf("%q, %+v", got, s)
			}
		}
		h.call("kill", args{"handle": 1}, nil)
		contains(t, h.fail("read_shell", args{"pid": r.PID}), fmt.Sprintf("Error: No active process found with PID %d. The process may have exited.", r.PID))
		contains(t, h.fail("read_shell", args{"pid": 0}), "PID must be a positive number.")
	},
	"write_to_shell/pid": func(t *testing.T) {
		h := startHost(t, nil, "-confirm", "none")
		var r runShellResult
		h.call("run_shell_command", args{"command": "cat", "is_background": true}, &r)
		contains(t, h.call("write_to_shell", args{"pid": r.PID, "input": "x"}, nil), fmt.Sprintf("Input sent to PID %d. Current screen:\n", r.PID))
		contains(t, h.call("write_to_shell", args{"pid": 1, "input": "x"}, nil), "Input sent to PID 1. Current screen:\n")
		contains(t, h.fail("write_to_shell", args{"pid": 999999999, "input": "x"}), "Error: No active process found with PID 999999999. The process may have exited.", "Command: cat")
		contains(t, h.fail("write_to_shell", args{"pid": 0, "input": "x"}), "PID must be a positive number.")
		contains(t, h.call("write_to_shell", args{"pid": 1, "special_keys": []string{"Ctrl-C"}}, nil), "Input sent")
		h.until(1, schema.Condition{Closed: new(true)})
		contains(t, h.fail("write_to_shell", args{"pid": r.PID, "input": "x"}), "Error: No active process found with PID")
	},
	"write_to_shell/input": func(t *testing.T) {
		h := startHost(t, nil, "-confirm", "none")
		h.call("run_shell_command", args{"command": "read -p 'Enter your name: ' name && echo \"Hello, $name\" && exec cat", "ai_callback_pattern": "name: $"}, nil)
		h.call("write_to_shell", args{"pid": 1, "input": "Ada\n"}, nil)
		h.until(1, schema.Condition{Pattern: new("Hello, Ada"), On: new(schema.PatternTargetScreen)})
		contains(t, h.call("read_shell", args{"pid": 1}, nil), "Enter your name: Ada\nHello, Ada")
		contains(t, h.fail("write_to_shell", args{"pid": 1}), "At least one of input or special_keys must be provided.")
	},
	"write_to_shell/special_keys": func(t *testing.T) {
		h := startHost(t, nil, "-confirm", "none")
		// Each key is sent in turn, as a program in the normal keypad mode gets it.
		h.call("run_shell_command", args{"command": "stty raw -echo; echo ready; exec od -An -tx1 -v -w1", "ai_callback_pattern": "ready"}, nil)
		want := map[string]string{
			"Enter": "0d", "Tab": "09", "Up": "1b 5b 41", "Down": "1b 5b 42", "Left": "1b 5b 44", "Right": "1b 5b 43", "Escape": "1b", "Backspace": "7f",
			"Ctrl-C": "03", "Ctrl-D": "04", "Ctrl-Z": "1a", "Space": "20", "Delete": "1b 5b 33 7e", "Home": "1b 5b 48", "End": "1b 5b 46",
		}
		if len(want) != len(specialKeys) {
			t.Errorf("%d keys of %d are tried", len(want), len(specialKeys))
		}
		expect := "58"
		h.call("write_to_shell", args{"pid": 1, "input": "X", "special_keys": specialKeys}, nil)
		for _, key := range specialKeys {
			expect += " " + want[key]
		}
		h.until(1, schema.Condition{Pattern: new(strings.Join(strings.Fields(expect), `\s+`))})
		contains(t, h.fail("write_to_shell", args{"pid": 1, "special_keys": []string{"Enter", "Entre"}}),
			"Error: Invalid special keys: Entre. Valid keys are: Enter, Tab, Up, Down, Left, Right, Escape, Backspace, Ctrl-C, Ctrl-D, Ctrl-Z, Space, Delete, Home, End")
	},
	"write_to_shell/confirmation": func(t *testing.T) {
		asked := &person{says: []string{"deny", "once"}}
		h := startHost(t, asked.options())
		h.call("run_shell_command", args{"command": "cat", "is_background": true}, nil)
		h.fail("write_to_shell", args{"pid": 1, "input": "hi", "special_keys": []string{"Enter"}})
		h.call("write_to_shell", args{"pid": 1, "input": "hi", "special_keys": []string{"Enter"}}, nil)
		h.until(1, schema.Condition{Pattern: new("hi\\s+hi")})
		asked.expect(t, "Confirm Shell Input\n\nType this into process 1?\n\n    hi<Enter>", "hi<Enter>")
	},
}
