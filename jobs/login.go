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

	"shelld.dev/shelld/jobs/internal/proc"
)

// A server that an editor or a desktop has started often lacks the variables that the user's start files set, above all
// PATH. So the server can ask the login shell, once, for the environment that it makes from the server's own:
//
//	SHELL -l -i -c "print a mark; /usr/bin/env -0; print the mark"
//
// Other output of start files is not part of the answer. Processes that they leave running are ended, like those that a
// job leaves. If the shell fails, hangs or prints too much, starts get the server's own environment, and requests for
// the environment return the reason.

// AsksLogin reports whether this system has login shells.
const AsksLogin = runtime.GOOS != "windows"

// loginBytes is larger than any environment that a program can be given.
const loginBytes = 8 << 20

// resolving is a variable that identifies this server to start files, so that they can leave out slow steps.
const resolving = "SHELLD_RESOLVING_ENVIRONMENT"

// ofTheShell lists the variables that describe the shell that was asked, and not the environment that it would give to
// programs.
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
			m.log.Warn("the login shell's environment could not be read; jobs get the server's own", "shell", l.report.Shell, "why", err)
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
			err = fmt.Errorf("%s ended without printing its environment; make sure that its start-up files do not call exit or exec", l.report.Shell)
		}
		conclude(ours(entries, m.own.environment), err)
	})
	return l
}

// loginInquiry returns the command for the login shell, and the mark that encloses its answer.
func loginInquiry(shell string, env []string) (q inquiry, mark string, err error) {
	if !AsksLogin {
		return q, "", errors.New("there are no login shells on this system")
	}
	if shell == "" {
		return q, "", errors.New("the login shell is unknown; set SHELL for the server")
	}
	if err := checkRunnable(shell); err != nil {
		return q, "", fmt.Errorf("the login shell %s cannot be run (%s); set SHELL for the server to one that can", shell, errnoText(err))
	}
	printer, err := proc.LookPath("env", "/", env)
	if err != nil {
		return q, "", errors.New("there is no program env on the server's PATH to print the environment")
	}
	one, other := rand.Text(), rand.Text() // separate in the command line, since a shell may be set to print that line
	if strings.ContainsAny(printer, `'\`) {
		return q, "", fmt.Errorf("the path of %s cannot be written in a command line", printer)
	}
	show := fmt.Sprintf("printf %%s%%s %s %s", one, other)
	args, ok := proc.LoginArgs(shell, fmt.Sprintf("%s; '%s' -0; %s", show, printer, show))
	if !ok {
		return q, "", fmt.Errorf("%s is not a supported login shell (bash, zsh, fish, ksh, dash and the like)", shell)
	}
	q = inquiry{path: shell, argv: append([]string{shell}, args...), most: loginBytes}
	q.dir = home(env)
	q.env = append(env[:len(env):len(env)], "TERM=dumb", resolving+"=1")
	return q, one + other, nil
}

// home returns the directory in which the user's own shells begin. It is "" if that is not known.
func home(env []string) string {
	dir, _ := proc.Getenv(env, "HOME")
	if fi, err := os.Stat(dir); err != nil || !fi.IsDir() || !filepath.IsAbs(dir) {
		return ""
	}
	return dir
}

// checkRunnable returns the reason why a file cannot be executed.
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
		return fmt.Errorf("%s did not end within %d ms; check what its start-up files wait for, or raise env.login.timeoutMs", shell, limit.Milliseconds())
	case errors.Is(err, errInquiryTooLong):
		return fmt.Errorf("%s printed more than %d bytes; check what its start-up files print", shell, loginBytes)
	}
	return fmt.Errorf("%s: %w", shell, err)
}

// marked returns the entries between the last two marks: NAME=value, each terminated by a NUL. It leaves out entries
// that cannot be variables.
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

// ours returns the entries of the login shell, except those that describe the shell itself. For these it returns the
// server's.
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
