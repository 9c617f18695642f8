package jobs

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
	"unicode"

	"shelld/jobs/internal/proc"
)

// A server that an editor or a desktop has started often lacks what the user's start files
// set: PATH above all. So the login shell can be asked, once, for the environment that it
// makes of the server's own:
//
//	SHELL -l -i -c "print a mark; /usr/bin/env -0; print the mark"
//
// What start files print besides is no part of it. What they leave running is ended, as what a
// job leaves is. A shell that fails, hangs or floods leaves things as they were: starts get the
// server's own environment, and whoever asks for the environment is told why.

// A LoginReport says how the login shell was asked.
type LoginReport struct {
	Shell    string // its path; "" = nobody knows which it is
	Taken    bool
	Reason   string // why not, in words for people
	Duration time.Duration
}

// A login is the environment of the login shell, or will be.
type login struct {
	done chan struct{} // closed when the rest is set
	// Immutable then:
	entries []string // NAME=value
	report  LoginReport
}

// AsksLogin says whether there are login shells here.
const AsksLogin = runtime.GOOS != "windows"

// loginBytes is more than any environment that a program can be given.
const loginBytes = 8 << 20

// resolving tells start files who runs them, so that they can leave out what takes long.
const resolving = "SHELLD_RESOLVING_ENVIRONMENT"

// ofTheShell are the variables that say something of the shell that was asked, and nothing
// of what it would give to others.
var ofTheShell = []string{"_", "SHLVL", "PWD", "OLDPWD", "TERM", resolving}

// askLogin begins to ask the login shell.
func (m *Manager) askLogin(limit time.Duration) *login {
	l := &login{done: make(chan struct{})}
	began := time.Now()
	conclude := func(entries []string, err error) {
		l.entries = entries
		l.report.Taken, l.report.Duration = err == nil, time.Since(began)
		if err != nil {
			l.report.Reason = err.Error()
			m.log.Warn("the login shell's environment could not be taken; jobs get the server's own", "shell", l.report.Shell, "why", err)
		}
		close(l.done)
	}
	l.report.Shell = proc.LoginShell(m.own.environment)
	q, mark, err := loginInquiry(l.report.Shell, m.own.environment)
	if err != nil {
		conclude(nil, err)
		return l
	}
	q.limit = limit
	m.inquire(q, func(output []byte, err error) {
		if err != nil {
			conclude(nil, loginError(l.report.Shell, limit, err))
			return
		}
		entries, ok := marked(output, mark)
		if !ok {
			err = fmt.Errorf("%s ended without telling its environment; see that no start file of it ends the shell or becomes another program (exit, exec)", l.report.Shell)
		}
		conclude(ours(entries, m.own.environment), err)
	})
	return l
}

// loginInquiry is what the login shell is asked, and the mark that its answer stands between.
func loginInquiry(shell string, env []string) (q inquiry, mark string, err error) {
	if !AsksLogin {
		return q, "", errors.New("there are no login shells on this system")
	}
	if shell == "" {
		return q, "", errors.New("nobody knows which the login shell is; set SHELL for the server")
	}
	if err := checkRunnable(shell); err != nil {
		return q, "", fmt.Errorf("the login shell %s cannot be run (%s); set SHELL for the server to one that can", shell, errnoText(err))
	}
	printer, err := proc.LookPath("env", "/", env)
	if err != nil {
		return q, "", errors.New("there is no program env on the server's PATH, which prints an environment")
	}
	one, other := rand.Text(), rand.Text() // apart in the line, which a shell may be set to print
	if strings.ContainsAny(printer, `'\`) {
		return q, "", fmt.Errorf("the path of %s cannot be written in a command line", printer)
	}
	show := fmt.Sprintf("printf %%s%%s %s %s", one, other)
	args, ok := proc.LoginArgs(shell, fmt.Sprintf("%s; '%s' -0; %s", show, printer, show))
	if !ok {
		return q, "", fmt.Errorf("%s is no shell that can be asked: that are bash, zsh, fish, ksh, dash and their like", shell)
	}
	q = inquiry{path: shell, argv: append([]string{shell}, args...), most: loginBytes}
	q.dir = home(env)
	q.env = append(env[:len(env):len(env)], "TERM=dumb", resolving+"=1")
	return q, one + other, nil
}

// home is where the user's own shells begin; "" = nobody knows.
func home(env []string) string {
	dir, _ := proc.Getenv(env, "HOME")
	if fi, err := os.Stat(dir); err != nil || !fi.IsDir() || !filepath.IsAbs(dir) {
		return ""
	}
	return dir
}

// checkRunnable says why a file cannot be executed.
func checkRunnable(path string) error {
	_, err := proc.LookPath(path, "/", nil)
	var le *proc.LookError
	if errors.As(err, &le) {
		return le.Err
	}
	return err
}

func loginError(shell string, limit time.Duration, err error) error {
	switch {
	case errors.Is(err, errInquiryLate):
		return fmt.Errorf("%s did not end within %d ms; see what its start files wait for, or raise env.login.timeoutMs", shell, limit.Milliseconds())
	case errors.Is(err, errInquiryTooLong):
		return fmt.Errorf("%s wrote more than %d bytes; see what its start files print", shell, loginBytes)
	}
	return fmt.Errorf("%s: %w", shell, err)
}

// marked finds what stands between the last two marks: NAME=value, each ended by a NUL. What
// cannot be a variable is left out.
func marked(output []byte, mark string) (entries []string, ok bool) {
	end := bytes.LastIndex(output, []byte(mark))
	if end < 0 {
		return nil, false
	}
	begin := bytes.LastIndex(output[:end], []byte(mark))
	if begin < 0 {
		return nil, false
	}
	for entry := range strings.SplitSeq(string(output[begin+len(mark):end]), "\x00") {
		name, _, isVariable := strings.Cut(entry, "=")
		if isVariable && name != "" && !strings.ContainsFunc(name, unicode.IsControl) {
			entries = append(entries, entry)
		}
	}
	return entries, len(entries) > 0
}

// ours are the entries of the login shell, but for those that say something of the shell
// itself: of these the server's stay.
func ours(entries, server []string) (all []string) {
	isShells := func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		for _, of := range ofTheShell {
			if name == of {
				return true
			}
		}
		return false
	}
	for _, e := range entries {
		if !isShells(e) {
			all = append(all, e)
		}
	}
	for _, e := range server {
		if isShells(e) {
			all = append(all, e)
		}
	}
	return all
}

// taken waits until the login shell has answered, and says whether its environment is there.
func (l *login) taken() bool {
	<-l.done // bounded by the inquiry's time
	return l.report.Taken
}

// wait waits until the login shell has answered, or until cancel is closed.
func (l *login) wait(cancel <-chan struct{}) *Error {
	select {
	case <-l.done:
		return nil
	case <-cancel:
		return errorf(CodeCanceled, "the request was cancelled; the login shell is still being asked")
	}
}

// mark tells those variables that the shell has set or changed from those that it had.
func (l *login) mark(vars []proc.Variable, server []string) []proc.Variable {
	had := make(map[string]bool, len(server))
	for _, entry := range server {
		had[entry] = true
	}
	for i, v := range vars {
		if had[v.Name+"="+v.Value] {
			vars[i].Source = proc.FromServer
		}
	}
	return vars
}

// newEnvironment is what jobs start with as the options say.
func (m *Manager) newEnvironment(o Options) *environment {
	i := &inheritance{server: m.own.environment, policy: o.Env}
	if o.Login > 0 {
		i.login = m.askLogin(o.Login)
	}
	return &environment{inheritance: i}
}
