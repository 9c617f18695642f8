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
		if got := (env{foldNames: true}).matches(name, secretNames); got != secret {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// No name of core looks like a secret: it would never be inherited.
func TestCoreIsNotSecret(t *testing.T) {
	for _, name := range append(slices.Clone(coreNames), windowsCoreNames...) {
		if (env{foldNames: true}).matches(name, secretNames) {
			t.Errorf("%s looks like a secret", name)
		}
	}
}

func TestGetenv(t *testing.T) {
	entries := []string{"A=1", "B", "A=2", "C="}
	for name, want := range map[string]string{"A": "2", "C": ""} {
		if got, ok := getenv(entries, name); got != want || !ok {
			t.Errorf("%s: %q, %v", name, got, ok)
		}
	}
	for _, name := range []string{"B", "D", ""} {
		if got, ok := getenv(entries, name); ok {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// What is found out once and then joined with a job's variables is what it would be in
// one go.
func TestWith(t *testing.T) {
	base := []string{"PATH=/bin", "HOME=/h", "API_TOKEN=x", "LANG=C", "OTHER=1", "PATH=/usr/bin"}
	p := EnvPolicy{Include: []string{"OTHER"}, Exclude: []string{"LANG"}, Set: map[string]string{"SET": "s", "HOME": "/set"}}
	job := map[string]*string{"PATH": new("/job"), "SET": nil, "NEW": new("n")}
	if got, want := With(Environ(base, p, nil), job), Environ(base, p, job); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
