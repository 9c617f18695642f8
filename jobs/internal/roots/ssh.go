package roots

import (
	"slices"
	"strings"
)

// runSSH examines ssh. The command on the other host is unknown, and options can run commands on this one. Options may
// come before the host and after it.
func runSSH(r *reader, name string, got givens, rest []word) {
	checkSSH(r, got)
	if len(rest) == 0 {
		return
	}
	sshText(r, rest[0])
	lonely := func(g givens) bool { return slices.ContainsFunc([]string{"N", "W", "O", "G"}, g.has) }
	behind, after := r.options(name, rest[1:], &wrappers()[name].options)
	checkSSH(r, behind)
	if len(after) == 0 && !lonely(got) && !lonely(behind) {
		r.note("ssh starts a remote shell, which can run anything")
	}
	if len(after) > 0 {
		r.note("ssh runs a remote command with an unknown shell")
	}
}

func checkSSH(r *reader, got givens) {
	for _, o := range got {
		option := strings.ToLower(o.value.text)
		runs := func(part string) bool { return strings.Contains(option, part) }
		switch {
		case o.name == "F" || o.name == "I" || o.name == "o" && (!o.value.known ||
			slices.ContainsFunc([]string{"command", "include", "exec", "provider", "location", "proxyjump"}, runs)):
			r.note("an option of ssh runs a command, or loads a file that may")
		case o.name == "J" || o.name == "l" || o.name == "W":
			sshText(r, o.value)
		}
	}
}

// sshText examines a host, a user or a jump host. Some versions of ssh insert these unquoted into a line for a shell.
func sshText(r *reader, w word) {
	if !w.known || !isPlain(strings.NewReplacer("@", "_", ":", "_", ",", "_", "[", "_", "]", "_", "/", "_", "%", "_").Replace(w.text)) {
		r.note("ssh may pass a host or a user with special characters to a shell")
	}
}
