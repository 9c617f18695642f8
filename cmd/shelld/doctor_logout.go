package main

import (
	"shelld.dev/shelld/jobs"
	"shelld.dev/shelld/session"
)

// afterLogout returns the check whether sessions outlive a login, if that can be known here.
func afterLogout() (jobs.Finding, bool) {
	l, ok := session.AfterLogout()
	f := jobs.Finding{Name: "logout", Grade: jobs.GradeOK, Found: l.Found, Advice: l.Advice, Facts: map[string]any{}}
	if l.Known {
		f.Facts["survives"] = l.Survives
	}
	if !l.Survives {
		f.Grade = jobs.GradeLimited
	}
	return f, ok
}
