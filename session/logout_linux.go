package session

import (
	"context"
	"os"
	"os/exec"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"time"
)

// askTime is how long logind may take to answer.
const askTime = 2 * time.Second

// AfterLogout returns whether the sessions that this process starts live on when the user logs out.
func AfterLogout() (Logout, bool) {
	l := login{uid: strconv.Itoa(os.Geteuid())}
	if _, err := os.Stat("/run/systemd/system"); err != nil { // This is how sd_booted finds out.
		return l.logout(), true
	}
	l.systemd = true
	cgroup, _ := os.ReadFile("/proc/self/cgroup") // Without it, the process belongs to no login.
	l.cgroup = string(cgroup)
	name := ""
	if u, err := user.LookupId(l.uid); err == nil {
		name = u.Username
		_, err := os.Stat("/var/lib/systemd/linger/" + name)
		l.lingers = err == nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), askTime)
	defer cancel()
	// Without a session, it shows the settings of logind itself.
	out, _ := exec.CommandContext(ctx, "loginctl", "show-session", "-p", "KillUserProcesses", "-p", "KillExcludeUsers").Output() // What it does not tell is unknown.
	for line := range strings.Lines(string(out)) {
		switch key, value, _ := strings.Cut(strings.TrimSpace(line), "="); key {
		case "KillUserProcesses":
			l.kills = value
		case "KillExcludeUsers":
			l.exempt = name != "" && slices.Contains(strings.Fields(value), name)
		}
	}
	return l.logout(), true
}
