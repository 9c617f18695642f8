package main

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"

	"shelld.dev/shelld/schema"
)

// knownSecrets are the variables in which well-known programs keep their secrets.
var knownSecrets = strings.Fields(`
	AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN AWS_ACCESS_KEY_ID GITHUB_TOKEN GH_TOKEN GITLAB_TOKEN CI_JOB_TOKEN NPM_TOKEN
	NODE_AUTH_TOKEN TWINE_PASSWORD DOCKER_PASSWORD DOCKER_AUTH_CONFIG OPENAI_API_KEY ANTHROPIC_API_KEY HF_TOKEN SLACK_BOT_TOKEN
	SLACK_WEBHOOK_URL STRIPE_SECRET_KEY TWILIO_AUTH_TOKEN SENDGRID_API_KEY GOOGLE_APPLICATION_CREDENTIALS GOOGLE_API_KEY
	AZURE_CLIENT_SECRET AZURE_STORAGE_CONNECTION_STRING AZURE_STORAGE_KEY DATABASE_URL REDIS_URL MONGODB_URI PGPASSWORD MYSQL_PWD
	VAULT_TOKEN DIGITALOCEAN_ACCESS_TOKEN CLOUDFLARE_API_KEY HEROKU_API_KEY SSH_PRIVATE_KEY GPG_PASSPHRASE JWT_SECRET
	SECRET_KEY_BASE RAILS_MASTER_KEY DJANGO_SECRET_KEY ENCRYPTION_KEY SENTRY_DSN SENTRY_AUTH_TOKEN DD_API_KEY DD_APP_KEY
	NEW_RELIC_LICENSE_KEY SNYK_TOKEN SSHPASS SMTP_PASS BORG_PASSPHRASE RESTIC_PASSWORD TELEGRAM_BOT_TOKEN BASIC_AUTH HTTP_COOKIE`)

// leak is part of the values of all of them.
const leak = "leaked-value-of-"

// A wire contains all messages that a client has sent and received.
type wire struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (w *wire) note(_ bool, message []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text.Write(message)
	w.text.WriteByte('\n')
}

// TestNoSecretLeaks puts secrets into the server's environment. After jobs have run, no secret may be in a job, in a
// message to the client, in a file or in a log.
func TestNoSecretLeaks(t *testing.T) {
	for name, c := range map[string]struct {
		env   object
		given string // the one secret that jobs get, because the client includes it
	}{
		"core":             {env: nil},
		"all":              {env: object{"inherit": "all"}},
		"none":             {env: object{"inherit": "none"}},
		"all of the login": {env: object{"inherit": "all", "login": object{}}},
		"one included":     {env: object{"inherit": "all", "include": []string{"GITHUB_TOKEN"}}, given: "GITHUB_TOKEN"},
	} {
		t.Run(name, func(t *testing.T) {
			needJobs(t)
			var environ []string
			for _, secret := range knownSecrets {
				environ = append(environ, secret+"="+leak+secret)
			}
			e := startEscaped(t, os.Geteuid(), func(e *escaped, p object) {
				options := object{}
				if c.env != nil {
					options["env"] = c.env
				}
				p["options"] = options
			}, []string{"-log", "debug"}, environ)
			names := e.tellAll(c.given)
			e.end()
			if got := regexp.MustCompile(leak + `\w*`).FindString(e.wire.text.String()); got != "" {
				t.Errorf("the client received %s", got)
			}
			if strings.Contains(e.log.String(), leak) {
				t.Errorf("it is in the log:\n%s", e.log)
			}
			e.inFiles(leak)
			for _, secret := range knownSecrets {
				if got := strings.Contains(names, "\n"+secret+"\n"); got != (secret == c.given) {
					t.Errorf("%s is in the environment of a job: %v", secret, got)
				}
			}
		})
	}
}

// tellAll makes all requests that might return the environment. It returns the names of the variables that jobs have,
// one per line.
func (e *escaped) tellAll(given string) (names string) {
	e.Helper()
	// The script prints the environment with values, but of the included secret only whether its length is right.
	script := "env -u '" + given + "'"
	if given != "" {
		script += fmt.Sprintf(`; test ${#%s} = %d && echo it has it`, given, len(leak+given))
	}
	for _, mode := range []string{"pipe", "pty"} {
		var r schema.JobRunResult
		e.call("job/run", object{"argv": []string{"sh", "-c", script}, "mode": mode}, &r)
		if given != "" && !strings.Contains(text(r.Stdout, r.Output), "it has it") {
			e.Errorf("%s: the job has not got %s: %+v", mode, given, r)
		}
	}
	var r schema.JobRunResult
	e.call("job/run", object{"argv": []string{"sh", "-c", "echo; env | sed -n 's/=.*//p'"}}, &r)
	names = text(r.Stdout, nil)
	var started schema.JobStartResult
	e.call("job/start", object{"command": "read x", "mode": "pty"}, &started)
	handle := started.Job.Handle
	for method, params := range map[string]object{
		"platform/get": {}, "env/list": {}, "job/list": {}, "server/stats": {}, "job/get": {"handle": handle},
	} {
		e.call(method, params, nil)
	}
	e.call("env/list", object{"handle": handle}, nil)
	for _, secret := range knownSecrets {
		e.call("env/get", object{"name": secret}, nil)
		e.call("env/get", object{"name": secret, "handle": handle}, nil)
	}
	// These are the errors about commands that do not exist.
	e.refusal("job/run", object{"argv": []string{"no-such-program-here"}})
	e.refusal("job/run", object{"command": "no-such-program-here", "shell": "no-such-shell"})
	e.call("job/kill", object{"handle": handle}, nil)
	return names
}

func text(streams ...*string) string {
	for _, s := range streams {
		if s != nil {
			return *s
		}
	}
	return ""
}

// inFiles checks that no file of the server's session contains a text.
func (e *escaped) inFiles(text string) {
	e.Helper()
	read := 0
	for _, path := range everything(e.T, e.state) {
		content, err := os.ReadFile(path)
		if err != nil {
			continue // It is a directory.
		}
		if read++; bytes.Contains(content, []byte(text)) {
			e.Errorf("it is in %s", path)
		}
	}
	if read < 4 {
		e.Errorf("there are %d files", read)
	}
}
