package roots

import (
	"slices"
	"strings"
	"sync"
)

// values is what a line puts into variables that it computes with.
type values struct {
	numbers map[string]bool // given a number
	others  map[string]bool // given something else, perhaps
	used    []string        // computed with
	arrays  bool            // one of them may be an array
	reread  []string        // declared with a value that may be text for an array
	locale  bool            // a locale is set, perhaps one whose characters are not those of UTF-8
}

func newValues() values {
	return values{numbers: map[string]bool{}, others: map[string]bool{}}
}

func (v *values) given(name string) { v.others[name] = true }

// suspect says which value could run a command when it is computed with, or "".
func (v *values) suspect() string {
	for _, name := range v.used {
		if v.others[name] || !v.numbers[name] || slices.Contains(told(), name) {
			return "the line computes with the value of " + name + ", which can hold a command"
		}
	}
	for _, name := range v.reread {
		if v.arrays || slices.Contains(told(), name) || isInteger(name) {
			return "the value that " + name + " is declared with may be expanded once more, if that is an array"
		}
	}
	return ""
}

// declare notes what is declared with a value that is one word, or is not known but for how it
// begins. Where the name is an array, or is made one, bash reads the elements from such a value
// as from the line: declare -a 'x=($(rm))'.
func (v *values) declare(name, value string, known, array bool) string {
	switch {
	case value != "" && !strings.HasPrefix(value, "("), known && value == "":
	case known, array:
		return "the value that " + name + " is declared with is expanded once more"
	default:
		v.reread = append(v.reread, name)
	}
	return ""
}

// counters are set by the shell, to numbers.
var counters = []string{"?", "#", "$", "!", "RANDOM", "SRANDOM", "SECONDS", "LINENO", "BASHPID", "PPID", "UID", "EUID"}

// told are variables that the shell gives a text, whatever the line gives them: the last
// argument, what a pattern has matched, the command itself.
var told = sync.OnceValue(func() []string {
	return strings.Fields(`_ PWD OLDPWD DIRSTACK dirstack REPLY OPTARG MAPFILE FUNCNAME
	BASH_REMATCH BASH_COMMAND BASH_EXECUTION_STRING BASH_ARGV BASH_ARGV0 BASH_SOURCE COMPREPLY COMP_LINE COMP_WORDS
	COMP_WORDBREAKS READLINE_LINE BASH BASH_VERSION BASH_VERSINFO
	argv ARGV0 ZSH_ARGZERO ZSH_EVAL_CONTEXT ZSH_EXECUTION_STRING ZSH_NAME MATCH match mbegin mend reply psvar jobtexts
	history historywords funcstack funcfiletrace funcsourcetrace functrace prebuffer BUFFER
	KSH_VERSION KSH_MATCH EXECSHELL HISTCMD HOST HOSTNAME`)
})

// use notes that a name is computed with.
func (v *values) use(name string) {
	if !slices.Contains(counters, name) && !slices.Contains(v.used, name) {
		v.used = append(v.used, name)
	}
}

// assign notes what a name is given, and says why that changes what commands are,
// or "".
func (v *values) assign(name string, number bool) string {
	v.locale = v.locale || slices.Contains(localeNames, name)
	switch {
	case Steers(name):
		return "the line sets " + name + ", which changes what commands run"
	case !number && isInteger(name):
		return "the line sets " + name + ", whose value the shell computes, and which can hold a command"
	case number:
		v.numbers[name] = true
	default:
		v.others[name] = true
	}
	return ""
}

// integers are variables that some shell computes when they are given a value.
var integers = sync.OnceValue(func() []string {
	return strings.Fields(`OPTIND HISTCMD COLUMNS LINES EPOCHSECONDS BASH_MONOSECONDS PIPESTATUS PGRP KSHUID KSHGID KSHEGID USER_ID
	SHLVL TMOUT SAVEHIST HISTSIZE KEYTIMEOUT LISTMAX MAILCHECK EGID GID TTYIDLE TRY_BLOCK_ERROR TRY_BLOCK_INTERRUPT ZSH_SUBSHELL
	ARGC status`)
})

func isInteger(name string) bool { return slices.Contains(integers(), name) }

// steering are variables that decide which program a word leads to, or what a shell
// or the loader runs besides; then those by which well-known programs start others
// or load code. There are more of the latter than anybody can list.
var steering = sync.OnceValue(func() []string {
	return strings.Fields(`
	PATH IFS ENV BASH_ENV SHELLOPTS BASHOPTS BASH_LOADABLES_PATH BASH_XTRACEFD BASH_ALIASES BASH_CMDS
	BASH_COMPAT POSIXLY_CORRECT POSIX_PEDANTIC COMSPEC PATHEXT FPATH fpath path ZDOTDIR
	NULLCMD READNULLCMD aliases galiases saliases functions commands builtins options HISTFILE
	EXECIGNORE GLOBIGNORE INPUTRC histchars FCEDIT FUNCNEST CDPATH cdpath precmd_functions
	PROMPT PROMPT2 RPROMPT PS0 PS1 PS2 PS3 PS4 PROMPT_COMMAND
	RANDOM SRANDOM SECONDS LINENO BASHPID PPID UID EUID
	SHELL HOME XDG_CONFIG_HOME XDG_CONFIG_DIRS PAGER EDITOR VISUAL BROWSER TERMINAL MANPAGER SYSTEMD_PAGER
	LESSOPEN LESSCLOSE LESSEDIT SUDO_ASKPASS SUDO_EDITOR SSH_ASKPASS RSYNC_RSH CVS_RSH PKG_CONFIG
	PYTHONPATH PYTHONHOME PYTHONSTARTUP PYTHONBREAKPOINT PYTHONWARNINGS PERL5OPT PERL5LIB PERL5DB
	RUBYOPT RUBYLIB NODE_OPTIONS NODE_PATH LUA_INIT LUA_PATH JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS
	CLASSPATH MAKEFLAGS MAKEFILES CC CXX LD RUSTC_WRAPPER RUSTC CARGO_HOME GOFLAGS GOROOT GCONV_PATH
	GZIP TAR_OPTIONS XZ_OPT ZSTD_CLEVEL VIMINIT EXINIT MYVIMRC GDBINIT TMPDIR
	AWKPATH AWKLIBPATH EMACSLOADPATH R_PROFILE R_HOME PHPRC PHP_INI_SCAN_DIR OPENSSL_CONF OPENSSL_ENGINES
	LOCPATH NLSPATH TEXTDOMAINDIR TERMINFO TERMINFO_DIRS TERMCAP HOSTALIASES RES_OPTIONS
	LESS MORE MANOPT VIM VIMRUNTIME FZF_DEFAULT_COMMAND FZF_DEFAULT_OPTS RIPGREP_CONFIG_PATH BAT_PAGER BAT_CONFIG_PATH
	DELTA_PAGER PSQLRC PSQL_PAGER PSQL_EDITOR AWS_PAGER AWS_CONFIG_FILE KUBECONFIG KUBE_EDITOR DOCKER_CONFIG DOCKER_HOST
	GH_PAGER GH_EDITOR GH_BROWSER HGEDITOR HGRCPATH SVN_EDITOR SVN_SSH RUSTFLAGS RUSTDOC RUSTC_WORKSPACE_WRAPPER GOENV
	JAVA_HOME MAVEN_OPTS GRADLE_OPTS GRADLE_USER_HOME PERLLIB AR AS CPP CONFIG_SHELL MAKE
	MODULE_PATH module_path GNUMAKEFLAGS COMPILER_PATH GCC_EXEC_PREFIX TEXMFCNF APT_CONFIG CURL_HOME WGETRC GREP_OPTIONS
	PYTHONUSERBASE PYTHONPYCACHEPREFIX PYTHONEXECUTABLE PYTHONINSPECT PYTHONPLATLIBDIR NODE_REPL_EXTERNAL_MODULE
	DOTNET_STARTUP_HOOKS QT_PLUGIN_PATH GUILE_LOAD_PATH TCLLIBPATH TCL_LIBRARY R_ENVIRON R_ENVIRON_USER R_PROFILE_USER R_LIBS
	ERL_FLAGS ERL_AFLAGS ERL_ZFLAGS ERL_LIBS P4CONFIG P4EDITOR P4DIFF P4MERGE P4PAGER PGSERVICEFILE PGSYSCONFDIR
	http_proxy https_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY all_proxy`)
})

var steeringPrefixes = []string{
	"LD_", "DYLD_", "BASH_FUNC_", "GIT_", "npm_config_", "NPM_CONFIG_", "CARGO_", "GLIBC_", "MALLOC_", "_RLD", "LIBPATH", "__",
	"LUA_", "PERL5", "GEM_", "BUNDLE_", "LESS", "XDG_", "SYSTEMD_", "OPENSSL_", "CORECLR_", "GTK_", "GIO_", "CGO_", "CCACHE_",
}

// Steers says whether a variable changes which programs a line runs: for the shell
// itself, or for programs that start others.
func Steers(name string) bool {
	return slices.Contains(steering(), name) ||
		slices.ContainsFunc(steeringPrefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}
