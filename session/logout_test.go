package session

import (
	"strings"
	"testing"
)

func TestLogout(t *testing.T) {
	const (
		scope   = "0::/user.slice/user-1000.slice/session-3.scope\n"
		manager = "0::/user.slice/user-1000.slice/user@1000.service/app.slice/x.scope\n"
		service = "0::/system.slice/sshd.service\n"
	)
	for name, c := range map[string]struct {
		login
		survives, known bool
		advice          string
	}{
		"no systemd":         {login{cgroup: "0::/\n"}, true, true, ""},
		"Debian":             {login{systemd: true, kills: "no", cgroup: scope}, true, true, ""},
		"upstream":           {login{systemd: true, kills: "yes", cgroup: scope}, false, true, "systemd-run"},
		"linger is too late": {login{systemd: true, kills: "yes", lingers: true, cgroup: scope}, false, true, "systemd-run"},
		"root":               {login{systemd: true, kills: "yes", exempt: true, cgroup: scope}, true, true, ""},
		"nothing known":      {login{systemd: true, cgroup: scope}, false, false, "loginctl show-session"},
		"manager":            {login{systemd: true, kills: "no", cgroup: manager}, false, true, "enable-linger"},
		"manager and linger": {login{systemd: true, kills: "yes", lingers: true, cgroup: manager}, true, true, ""},
		"a service":          {login{systemd: true, kills: "yes", cgroup: service}, true, true, ""},
	} {
		c.uid = "1000"
		got := c.logout()
		if got.Survives != c.survives || got.Known != c.known || (got.Advice == "") != (c.advice == "") || !strings.Contains(got.Advice, c.advice) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
