package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"shelld.dev/shelld/schema"
)

// The policy of a session is that of the client that has created it. A front end whose flags promise less freedom than
// the session gives does not use it.

// policyDigest identifies the restrictions that the flags ask for and that the server reports only as numbers.
func (m *member) policyDigest() string {
	c := &m.front.cfg
	b, _ := json.Marshal([]any{c.allowDirs, c.allowCommands, c.denyCommands, c.env}) // These types always encode.
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// admit returns an error unless the session is what the flags ask for, or stricter.
func (m *member) admit(info *schema.InitializeResult) error {
	var wrong []string
	made := info.Session.Attached == schema.SessionAttachedNew
	for _, w := range []string{m.wrongPolicy(info, made), m.wrongRoot(info.Policy), m.wrongFiles(info)} {
		if w != "" {
			wrong = append(wrong, w)
		}
	}
	if max := m.front.cfg.maxJobs; max > 0 && info.Limits.MaxJobs > max {
		wrong = append(wrong, fmt.Sprintf("it allows %d jobs, and -max-jobs is %d", info.Limits.MaxJobs, max))
	}
	if info.Session.Role == schema.SessionRoleViewer {
		wrong = append(wrong, "its creator lets other clients only look")
	}
	if wrong == nil {
		return nil
	}
	name := m.front.cfg.session
	return errFlags{fmt.Errorf("the session %s was set up by another client, or with other flags: %s. End it with \"shelld sessions end %s\" (its jobs end too), give another -session, or other flags", name, strings.Join(wrong, "; "), name)}
}

// wrongPolicy returns how the policy is wider than the flags promise; "": it is not.
func (m *member) wrongPolicy(info *schema.InitializeResult, made bool) string {
	p, c := info.Policy, &m.front.cfg
	if p == nil {
		return "it does not say what it allows"
	}
	asked := m.params.Options.Confirm
	for _, action := range []struct {
		name   string
		asked  *schema.ConfirmVerdict
		answer schema.ConfirmVerdict
	}{{"start", asked.Start, p.Confirm.Start}, {"write", asked.Write, p.Confirm.Write}, {"kill", asked.Kill, p.Confirm.Kill}} {
		if *action.asked == schema.ConfirmVerdictAsk && action.answer == schema.ConfirmVerdictAllow {
			return fmt.Sprintf("it asks no person about the action %s, and -confirm %s with -tools %s does", action.name, c.confirm, c.tools)
		}
	}
	switch {
	case len(c.allowDirs) > 0 && p.AllowedDirectories == nil:
		return "it allows any directory, and -allow-dir does not"
	case len(c.allowCommands) > 0 && p.AllowCommands == nil:
		return "it allows any command, and -allow-command does not"
	case len(c.denyCommands) > 0 && p.DenyCommands == nil:
		return "it forbids no command, and -deny-command does"
	case made || len(c.allowDirs)+len(c.allowCommands)+len(c.denyCommands) == 0 && c.env == schema.EnvInheritCore:
		return ""
	case !m.knownPolicy(info.Session.ID):
		return "whether its -allow-dir, -allow-command, -deny-command and -env are the same cannot be seen"
	}
	return ""
}

// knownPolicy reports whether a front end with the same flags has created the session, or has found them to be the same.
func (m *member) knownPolicy(id string) bool {
	paths, err := m.dir.Claims(m.front.cfg.session, claimKind)
	if err != nil {
		m.front.log.Debug("the claims of the session cannot be listed", "error", err)
	}
	for _, path := range paths {
		if of, digest := headIn(path); of == id && digest == m.policyDigest() {
			return true
		}
	}
	return false
}

// headIn is head of a record that may be another process's.
func headIn(path string) (id, digest string) {
	f, err := os.Open(path)
	if err != nil {
		return "", ""
	}
	defer f.Close()
	b := make([]byte, recordHead)
	n, err := io.ReadFull(f, b)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return "", ""
	}
	return headOf(b[:n])
}

// wrongRoot returns how commands would start elsewhere; "": they do not.
func (m *member) wrongRoot(p *schema.Policy) string {
	if p == nil || p.RootDirectory == nil || m.params.RootDirectory == nil {
		return ""
	}
	if sameDirectory(*p.RootDirectory, *m.params.RootDirectory) {
		return ""
	}
	return fmt.Sprintf("its commands start in %s, and not in %s (-root, or the directory in which shelld-mcp was started)", *p.RootDirectory, *m.params.RootDirectory)
}

// wrongFiles returns how output is kept in another place than the flags name; "": it is not.
func (m *member) wrongFiles(info *schema.InitializeResult) string {
	c := &m.front.cfg
	switch dir := info.StateDirectory; {
	case c.memory && dir != nil:
		return fmt.Sprintf("it keeps output in %s, and -memory does not", *dir)
	case c.stateDir != "" && dir == nil:
		return "it keeps output only in memory, and not in -state-dir " + c.stateDir
	case c.stateDir != "" && !sameDirectory(*dir, c.stateDir):
		return fmt.Sprintf("it keeps output in %s, and not in -state-dir %s", *dir, c.stateDir)
	}
	return ""
}

func sameDirectory(a, b string) bool {
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(one, other)
}
