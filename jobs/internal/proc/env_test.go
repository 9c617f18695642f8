package proc

import (
	"slices"
	"strings"
	"testing"
)

func TestEnviron(t *testing.T) {
	value := func(s string) *string { return &s }
	base := []string{
		"PATH=/bin", "HOME=/h", "LC_ALL=C", "FOO=1", "FOO=2", "EMPTY=", "PWD=/x", "TERM=vt100",
		"GITHUB_TOKEN=t", "npm_password=p", "AWS_ACCESS_KEY_ID=k", "AWS_REGION=r", "XDG_API_KEY=x", "MYSQL_PWD=y",
		"no equals", "=C:=C:\\x", "A\x00B=1", "NUL=a\x00b",
	}
	for _, test := range []struct {
		name   string
		policy EnvPolicy
		job    map[string]*string
		want   string
	}{
		{"core", EnvPolicy{Inherit: "core"}, nil, "HOME=/h LC_ALL=C PATH=/bin"},
		{"by default", EnvPolicy{}, nil, "HOME=/h LC_ALL=C PATH=/bin"},
		{"all", EnvPolicy{Inherit: "all"}, nil, "AWS_REGION=r EMPTY= FOO=2 HOME=/h LC_ALL=C PATH=/bin PWD=/x TERM=vt100"},
		{"none", EnvPolicy{Inherit: "none"}, nil, ""},
		{"include from none", EnvPolicy{Inherit: "none", Include: []string{"F*", "GITHUB_TOKEN"}}, nil, "FOO=2 GITHUB_TOKEN=t"},
		{"include a secret", EnvPolicy{Inherit: "core", Include: []string{"npm_*"}}, nil, "HOME=/h LC_ALL=C PATH=/bin npm_password=p"},
		{"exclude wins", EnvPolicy{Inherit: "all", Include: []string{"FOO"}, Exclude: []string{"FOO", "*_*", "[PT]*"}}, nil, "EMPTY= HOME=/h"},
		{"a bad glob is a name", EnvPolicy{Inherit: "core", Exclude: []string{"[", "[a"}}, nil, "HOME=/h LC_ALL=C PATH=/bin"},
		{"set", EnvPolicy{Inherit: "none", Exclude: []string{"*"}, Set: map[string]string{"MY_TOKEN": "1", "A": "="}}, nil, "A== MY_TOKEN=1"},
		{"the job's", EnvPolicy{Inherit: "core", Set: map[string]string{"A": "1", "B": "1"}},
			map[string]*string{"A": nil, "B": value("2"), "HOME": nil, "NEVER": nil, "C": value("")}, "B=2 C= LC_ALL=C PATH=/bin"},
		{"what cannot be set", EnvPolicy{Inherit: "none", Set: map[string]string{"": "x", "A=B": "x", "N\x00": "x"}},
			map[string]*string{"V": value("\x00"), "": nil}, ""},
	} {
		if got := strings.Join(environ(base, test.policy, test.job, false), " "); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

func TestEnvironOnWindows(t *testing.T) {
	value := func(s string) *string { return &s }
	base := []string{"Path=a", "PATH=b", "SystemRoot=r", "ProgramFiles(x86)=p", "Foo=1", "My_Token=t"}
	got := environ(base, EnvPolicy{Inherit: "core", Include: []string{"f*"}, Set: map[string]string{"foo": "2"}},
		map[string]*string{"FOO": value("3"), "systemroot": nil}, true)
	if want := []string{"FOO=3", "PATH=b", "ProgramFiles(x86)=p"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestSecretNames(t *testing.T) {
	for name, secret := range map[string]bool{
		"GITHUB_TOKEN": true, "token": true, "CLIENT_SECRET_ID": true, "DB_PASSWORD": true, "PASSWD": true, "MY_API_KEY": true,
		"apikey": true, "SSH_PRIVATE_KEY": true, "GOOGLE_APPLICATION_CREDENTIALS": true, "AWS_SECRET_ACCESS_KEY": true,
		"GPG_PASSPHRASE": true, "MYSQL_PWD": true, "GH_PAT": true,
		"PATH": false, "PWD": false, "OLDPWD": false, "SSH_AUTH_SOCK": false, "KEYBOARD": false, "AWS_REGION": false, "PATTERN": false,
	} {
		if got := LooksSecret(name); got != secret {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// No name of core looks like a secret. If it did, it would never be inherited.
func TestCoreIsNotSecret(t *testing.T) {
	for _, name := range append(slices.Clone(coreNames), windowsCoreNames...) {
		if LooksSecret(name) {
			t.Errorf("%s looks like a secret", name)
		}
	}
}

func TestGetenv(t *testing.T) {
	entries := []string{"A=1", "B", "A=2", "C="}
	for name, want := range map[string]string{"A": "2", "C": ""} {
		if got, ok := Getenv(entries, name); got != want || !ok {
			t.Errorf("%s: %q, %v", name, got, ok)
		}
	}
	for _, name := range []string{"B", "D", ""} {
		if got, ok := Getenv(entries, name); ok {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// The source of each variable is the uppermost layer that has it.
func TestSources(t *testing.T) {
	base := Inherited([]string{"PATH=/bin", "HOME=/h", "LANG=C", "MAIL=m"}, EnvPolicy{Exclude: []string{"MAIL"}}, FromServer)
	got := Compose(base,
		Layer{FromPolicy, map[string]*string{"HOME": new("/p"), "BOTH": new("p")}},
		Layer{FromClient, map[string]*string{"BOTH": new("c"), "LANG": nil, "NEVER": nil}},
		Layer{FromStart, map[string]*string{"NEW": new("s"), "PATH": new("/start")}})
	want := []Variable{{"BOTH", "c", FromClient}, {"HOME", "/p", FromPolicy}, {"NEW", "s", FromStart}, {"PATH", "/start", FromStart}}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := Environ(want); !slices.Equal(got, []string{"BOTH=c", "HOME=/p", "NEW=s", "PATH=/start"}) {
		t.Errorf("%q", got)
	}
}

// environ returns the environment of a job, as a start request composes it from the server's environment.
func environ(base []string, p EnvPolicy, job map[string]*string, windows bool) []string {
	set := map[string]*string{}
	for name, value := range p.Set {
		set[name] = &value
	}
	vars := inherited(base, p, FromServer, windows)
	return Environ(compose(vars, windows, Layer{FromPolicy, set}, Layer{FromStart, job}))
}

// knownSecrets are names that well-known programs use for their secrets.
var knownSecrets = []string{
	"AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_ACCESS_KEY_ID", "GITHUB_TOKEN", "GH_TOKEN", "GITLAB_TOKEN", "CI_JOB_TOKEN",
	"NPM_TOKEN", "NODE_AUTH_TOKEN", "TWINE_PASSWORD", "DOCKER_PASSWORD", "DOCKER_AUTH_CONFIG", "OPENAI_API_KEY", "ANTHROPIC_API_KEY",
	"HF_TOKEN", "SLACK_BOT_TOKEN", "SLACK_WEBHOOK_URL", "STRIPE_SECRET_KEY", "TWILIO_AUTH_TOKEN", "SENDGRID_API_KEY",
	"GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_API_KEY", "AZURE_CLIENT_SECRET", "AZURE_STORAGE_CONNECTION_STRING", "AZURE_STORAGE_KEY",
	"DATABASE_URL", "REDIS_URL", "MONGODB_URI", "PGPASSWORD", "MYSQL_PWD", "VAULT_TOKEN", "DIGITALOCEAN_ACCESS_TOKEN",
	"CLOUDFLARE_API_KEY", "HEROKU_API_KEY", "SSH_PRIVATE_KEY", "GPG_PASSPHRASE", "JWT_SECRET", "SECRET_KEY_BASE", "RAILS_MASTER_KEY",
	"DJANGO_SECRET_KEY", "ENCRYPTION_KEY", "SENTRY_DSN", "SENTRY_AUTH_TOKEN", "DD_API_KEY", "DD_APP_KEY", "NEW_RELIC_LICENSE_KEY",
	"SNYK_TOKEN", "SSHPASS", "SMTP_PASS", "BORG_PASSPHRASE", "RESTIC_PASSWORD", "TELEGRAM_BOT_TOKEN", "BASIC_AUTH", "HTTP_COOKIE", "A/B_TOKEN", "MONGO/X_URI",
}

// A job inherits a well-known secret only if the policy includes it by name.
func TestNoKnownSecretLeaks(t *testing.T) {
	if len(knownSecrets) < 40 {
		t.Fatalf("%d names", len(knownSecrets))
	}
	for _, name := range knownSecrets {
		base := []string{name + "=leaked", strings.ToLower(name) + "=leaked", "PATH=/bin"}
		for _, inherit := range []string{"core", "all", "none", ""} {
			for _, v := range Inherited(base, EnvPolicy{Inherit: inherit}, FromServer) {
				if v.Value == "leaked" {
					t.Errorf("%s leaks with inherit %q", v.Name, inherit)
				}
			}
		}
		included := Inherited(base, EnvPolicy{Inherit: "none", Include: []string{name}}, FromServer)
		if len(included) != 1 || included[0].Name != name {
			t.Errorf("%s cannot be included: %v", name, included)
		}
	}
}

// Names of variables that programs need to start, or that are public, do not look like secrets.
func TestOrdinaryNamesPass(t *testing.T) {
	for _, name := range []string{
		"PATH", "HOME", "SSH_AUTH_SOCK", "XAUTHORITY", "GOPATH", "JAVA_HOME", "NODE_ENV", "VIRTUAL_ENV", "HTTP_PROXY", "NO_PROXY",
		"KEYBOARD", "PASSENGER_APP_ENV", "COLORTERM", "MONKEY", "SSL_CERT_FILE", "GPG_TTY", "KUBECONFIG", "DOCKER_HOST", "AUTHOR", "GIT_AUTHOR_NAME",
	} {
		if LooksSecret(name) {
			t.Errorf("%s looks like a secret", name)
		}
	}
}

// Globs match the same with and without the fast path of matches.
func TestGlobs(t *testing.T) {
	for _, test := range []struct {
		glob, name string
		want       bool
	}{
		{"A", "A", true}, {"A", "AB", false}, {"A*", "AB", true}, {"A*", "BA", false}, {"*A", "BA", true}, {"*A", "AB", false},
		{"*A*", "BAB", true}, {"*A*", "B", false}, {"*", "", true}, {"*", "A/B", true}, {"**", "A", true}, {"", "", true}, {"", "A", false},
		{"A?", "AB", true}, {"A?", "A", false}, {"?", "/", true}, {"[AB]*", "B/C", true}, {"[AB]*", "C", false}, {"A*B", "A/B", true}, {"A*B", "AC", false},
		{`A\*`, "A*", true}, {`A\*`, "AB", false}, {"[", "[", true}, {"[", "A", false}, {"*[", "A[", false},
	} {
		if got := matches(test.glob, test.name); got != test.want {
			t.Errorf("%q, %q: %v", test.glob, test.name, got)
		}
	}
}
