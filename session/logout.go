package session

import "strings"

// A Logout says whether the processes of this user live on when the user logs out.
type Logout struct {
	Survives bool
	Known    bool // Survives is
	Found    string
	Advice   string // what changes it; "": nothing has to be changed
}

// A login contains the facts on which that depends.
type login struct {
	systemd bool   // it runs this system
	kills   string // KillUserProcesses of logind: "yes", "no" or "" (unknown)
	exempt  bool   // the user is one of KillExcludeUsers
	lingers bool   // the user's manager runs without a login
	cgroup  string // of this process
	uid     string
}

const lingerAdvice = "loginctl enable-linger makes it live on"

// logout returns the result for these facts.
func (l login) logout() Logout {
	inSession := strings.Contains(l.cgroup, "/session-") && strings.Contains(l.cgroup, ".scope")
	inManager := strings.Contains(l.cgroup, "/user@"+l.uid+".service")
	switch {
	case !l.systemd:
		return Logout{true, true, "no systemd: a logout ends no processes", ""}
	case inManager && l.lingers:
		return Logout{true, true, "this user's manager lives on (linger)", ""}
	case inManager:
		return Logout{false, true, "sessions started from here end with this user's last login: the user does not linger", lingerAdvice}
	case !inSession:
		return Logout{true, true, "this process belongs to no login", ""}
	case l.kills == "no":
		return Logout{true, true, "logind ends no processes (KillUserProcesses=no)", ""}
	case l.exempt:
		return Logout{true, true, "logind ends no processes of this user (KillExcludeUsers)", ""}
	case l.kills == "yes":
		return Logout{
			false, true, "sessions started from here end at logout (KillUserProcesses=yes)",
			"start them with systemd-run --user --scope shelld connect …, after loginctl enable-linger; or set KillUserProcesses=no in logind.conf",
		}
	}
	return Logout{false, false, "unknown: logind does not tell whether it ends the processes of a user at logout", "loginctl show-session -p KillUserProcesses shows it"}
}
