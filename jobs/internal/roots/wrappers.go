package roots

import (
	"slices"
	"strings"
	"sync"
)

// A wrapper is a program that runs its arguments as a command.
type wrapper struct {
	options
	run  func(r *reader, name string, got givens, rest []word) // nil: rest is a command
	lone string                                                // what it runs without a command, if that is known
}

// shell means that a wrapper starts a shell if it has no command.
const shell = "shell"

// wrapperTable is the only table of programs that run others. An option that is not in it makes the line unknown. The
// table is built at its first use, not at the start of the program, because every keeper is a start of this program.
var wrapperTable struct {
	sync.Once
	rows map[string]*wrapper
}

func wrappers() map[string]*wrapper {
	wrapperTable.Do(makeWrappers)
	return wrapperTable.rows
}

func makeWrappers() {
	wrapperTable.rows = map[string]*wrapper{
		"env": {options: options{flags: "i0v", values: "uCSa", assigns: true,
			long: "ignore-environment null debug unset= chdir= split-string= argv0= block-signal? default-signal? ignore-signal? list-signal-handling help version"}, run: runEnv},
		"sudo": {options: options{flags: "AbBEeHiKklNnPSsvV", values: "CDghpRrtTUu", assigns: true,
			long: "askpass background bell preserve-env? edit set-home login list non-interactive preserve-groups stdin shell remove-timestamp reset-timestamp validate version help close-from= chdir= group= host= prompt= chroot= role= type= command-timeout= other-user= user="}, run: runSudo},
		"doas": {options: options{flags: "Lns", values: "aCu"}, run: runSudo},
		"su": {options: options{flags: "flmpPT", values: "cgGsw",
			long: "command= session-command= fast group= supp-group= login preserve-environment pty no-pty shell= whitelist-environment= help version"}, run: runSu},
		"nohup": {options: options{long: "help version"}},
		"nice":  {options: options{values: "n", long: "adjustment= help version", digits: true}},
		"ionice": {options: options{flags: "thV", values: "cnpPu",
			long: "class= classdata= ignore pid= pgid= uid= help version"}},
		"setsid": {options: options{flags: "cfwhV", long: "ctty fork wait help version"}},
		"timeout": {options: options{flags: "fpv", values: "ks", operands: 1,
			long: "foreground preserve-status verbose kill-after= signal= help version"}},
		"stdbuf": {options: options{values: "ioe", long: "input= output= error= help version"}},
		"time": {options: options{flags: "apvqVlh", values: "fo",
			long: "format= output= append portability verbose quiet help version"}},
		"chroot":  {options: options{operands: 1, long: "userspec= groups= skip-chdir help version"}, run: runChroot, lone: shell},
		"taskset": {options: options{flags: "acphV", operands: 1, long: "all-tasks cpu-list pid help version"}},
		"chrt": {options: options{flags: "abdfimoreRGvhV", values: "TPDp",
			long: "batch deadline fifo idle other rr ext reset-on-fork all-tasks max verbose sched-runtime= sched-period= sched-deadline= pid= help version"}, run: runChrt},
		"xargs": {options: options{flags: "0rtpxo", values: "aILnPsdEJRS", attached: "iel",
			long: "null no-run-if-empty interactive verbose exit open-tty show-limits arg-file= delimiter= max-args= max-procs= max-chars= max-lines? replace? eof? process-slot-var= help version"}, run: runXargs},
		"find":   {run: runFind},
		"fd":     {run: runFd},
		"fdfind": {run: runFd},
		"watch": {options: options{flags: "bcCdegtpxwrfhv", values: "nqs",
			long: "beep color no-color differences? errexit chgexit no-title precise exec no-wrap no-rerun follow interval= equexit= shotsdir= help version"}, run: runWatch, lone: "nothing"},
		"script": {options: options{flags: "aefqthV", values: "cBEImoOT",
			long: "append command= echo= flush force quiet return log-in= log-out= log-io= log-timing= logging-format= output-limit= timing? help version"}, run: runScript},
		"strace": {options: options{flags: "cCdfFhiknNqrtTvVwxyYzZDA", values: "abeEIoOPpsSuUX",
			long: "follow-forks output= trace= help version"}, run: runTracer},
		"ltrace": {options: options{flags: "bcCfhiLrStTV", values: "aADeFlnopsuwx",
			long: "demangle indent= output= help version"}, run: runTracer},
		"unshare": {options: options{flags: "muinpUCTfrchV", values: "RwSGl",
			long: "mount? uts? ipc? net? pid? user? cgroup? time? fork map-root-user map-current-user map-auto mount-proc? kill-child? keep-caps root= wd= setuid= setgid= map-user= map-group= map-users= map-groups= propagation= setgroups= monotonic= boottime= help version"}, run: runNamespace},
		"nsenter": {options: options{flags: "aFZehVNc", values: "tSGW", attached: "muinpUCTrw",
			long: "all target= mount? uts? ipc? net? pid? user? cgroup? time? setuid= setgid= preserve-credentials root? wd? wdns= env no-fork follow-context help version"}, run: runNamespace},
		"flock": {options: options{flags: "sxenuoFvhV", values: "wE", operands: 1,
			long: "shared exclusive unlock nonblock nb timeout= conflict-exit-code= close no-fork verbose wait= help version"}, run: runFlock},
		"ssh":     {options: options{flags: "46AaCfGgKkMNnqsTtVvXxYy", values: "BbcDEeFIiJLlmOopQRSWw"}, run: runSSH},
		"busybox": {options: options{long: "list list-full install help version"}, run: runBusybox},
		"toybox":  {options: options{long: "long help version"}, run: runBusybox},
	}
}

// opaque are programs that run their arguments in ways that are not examined.
var opaque = sync.OnceValue(func() []string {
	return strings.Fields(`
	parallel sem rush runuser setpriv capsh sudoedit pkexec run0 gosu su-exec setuidgid chpst softlimit runcon sg newgrp
	systemd-run systemd-nspawn dbus-run-session dbus-launch bwrap firejail fakeroot fakechroot proot minijail0 nsjail
	entr watchexec rlwrap unbuffer expect valgrind perf catchsegv daemonize daemon start-stop-daemon tini dumb-init catatonit
	numactl prlimit choom setarch linux32 linux64 i386 x86_64 uname26 arch at batch crontab tmux screen dtach abduco
	xvfb-run cpulimit cgexec faketime eatmydata torsocks torify proxychains proxychains4 sshpass hyperfine caffeinate
	sandbox-exec run-parts ld.so ld-linux.so.2 ld-linux-x86-64.so.2 ld-linux-aarch64.so.1 winpty script-live pipexec
	socat ncat mosh rsh rexec gdb lldb rr uftrace ts-node-dev nodemon chronic ifne pee errno vipe setlock fghack
	ssh-agent npx bunx uvx pipx nix-shell aws-vault doppler dotenv direnv foreman cross-env concurrently
	systemd-inhibit systemd-cat systemd-socket-activate run-this-one flatpak-spawn lckdo mispipe zrun nocache logsave
	aa-exec lxc-attach lxc-execute schroot arch-chroot uclampset coreutils sudo-rs su-rs dzdo pfexec ksu trickle tsocks
	zellij tmate byobu dvtm ttyd gotty login
	ccache sccache distcc icecc tsp nq s6-setuidgid s6-softlimit s6-envdir s6-applyuidgid execlineb
	cttyhack openvt tcpsvd udpsvd telnetd inetd nc nc.traditional
	pgrphack envdir envuidgid multilog supervise xdg-open open start qemu-x86_64 qemu-aarch64 wine`)
})

// prefixable are programs that GNU installs with the prefix g next to others.
var prefixable = []string{"env", "nice", "nohup", "timeout", "stdbuf", "chroot", "xargs", "find", "time"}

// wrapped examines a program that runs another.
func (r *reader) wrapped(name string, args []word) {
	if plain, prefixed := strings.CutPrefix(name, "g"); prefixed && slices.Contains(prefixable, plain) {
		name = plain
	}
	if _, is := families[name]; is {
		r.runsShell(name, args)
		return
	}
	if runnerNames()[name] {
		r.runs(name, args)
		return
	}
	w := wrappers()[name]
	switch {
	case slices.Contains(opaque(), name) || isLoader(name) || isShellLike(name):
		r.note(name + " runs its arguments, which are not inspected")
		return
	case w == nil:
		return
	case name == "find" || name == "fd" || name == "fdfind":
		w.run(r, name, nil, args)
		return
	}
	got, rest := r.options(name, args, &w.options)
	if got.has("help") || got.has("version") {
		return
	}
	if w.assigns {
		rest = r.settings(rest)
	}
	if w.run == nil || w.operands > 0 {
		rest = r.operands(name, rest, w.operands)
	}
	switch {
	case w.run != nil:
		w.run(r, name, got, rest)
	case len(rest) == 0 && w.lone == shell:
		r.note(name + " starts a shell")
	default:
		r.command(rest)
	}
}

// isLoader reports whether a program is the dynamic loader, which runs its arguments.
func isLoader(name string) bool {
	return strings.HasPrefix(name, "ld-linux") || strings.HasPrefix(name, "ld-musl") ||
		strings.HasPrefix(name, "ld-") && strings.Contains(name, ".so") || strings.HasPrefix(name, "ld64.so")
}

// isShellLike reports whether a name is another edition of a shell: bash-static, zsh-5.9.
func isShellLike(name string) bool {
	if name == "static-sh" {
		return true
	}
	plain := strings.TrimRight(strings.TrimSuffix(name, "-static"), "0123456789.-")
	_, is := families[plain]
	return is && plain != name
}

// operands splits off the operands before the command.
func (r *reader) operands(name string, args []word, n int) []word {
	for ; n > 0 && len(args) > 0; n-- {
		if !args[0].known {
			r.note("the arguments of " + name + " are known only when the line runs")
		}
		args = args[1:]
	}
	return args
}

// settings splits off the assignments before the command. An unquoted expansion in one may produce further words,
// including the command.
func (r *reader) settings(args []word) []word {
	for len(args) > 0 {
		name, value, ok := strings.Cut(args[0].text, "=")
		if !ok {
			break
		}
		if args[0].many || !isName(name) && !strings.HasPrefix(name, "BASH_FUNC_") {
			r.note("whether " + name + "=… is an assignment or a command is unknown; quote its value")
		}
		r.give(name, value, args[0].known, args[0].known && isDigits(value))
		args = args[1:]
	}
	return args
}

func runEnv(r *reader, name string, got givens, rest []word) {
	split := false
	for _, o := range got {
		switch {
		case split:
			r.note(name + " takes the words after -S as more of its text")
		case o.name == "S" || o.name == "split-string":
			split = true
			if !o.value.known || strings.ContainsAny(o.value.text, "\\$\"'#-") {
				r.note(name + " -S splits its text by its own rules")
			}
			var words []word
			for field := range strings.FieldsFuncSeq(o.value.text, isASCIISpace) {
				words = append(words, word{text: field, known: true, quoted: true})
			}
			rest = r.settings(append(words, rest...))
		case (o.name == "u" || o.name == "unset") && (!o.value.known || Steers(o.value.text)):
			r.note(name + " -u removes a variable that commands depend on")
		}
	}
	bare := got.has("i") || got.has("ignore-environment")
	if len(rest) > 0 && rest[0].known && rest[0].text == "-" { // -i
		bare = true
		_, rest = r.options(name, rest[1:], &options{})
		rest = r.settings(rest)
	}
	r.renamed(name, got)
	defer r.withoutPath(bare)()
	r.command(rest)
}

func runSudo(r *reader, name string, got givens, rest []word) {
	for _, o := range got {
		switch o.name {
		case "s", "i", "e", "shell", "login", "edit":
			r.note(name + " starts a shell or an editor")
		case "R", "chroot", "C":
			r.note(name + " changes which files names refer to")
		}
	}
	r.command(rest)
}

// isASCIISpace reports whether env -S splits at a character.
func isASCIISpace(c rune) bool { return strings.ContainsRune(" \t\n\v\f\r", c) }

// runSu examines su. Its options may come before and after the user.
func runSu(r *reader, name string, got givens, rest []word) {
	given := false
	for len(rest) > 0 {
		if !rest[0].known {
			r.note("the arguments of su are known only when the line runs")
		}
		var more givens
		more, rest = r.options(name, rest[1:], &wrappers()[name].options)
		got = append(got, more...)
	}
	for _, o := range got {
		switch o.name {
		case "c", "command", "session-command":
			given = true
			r.text(o.value, posixFamily, "su -c")
		case "s", "shell":
			r.add(o.value.text)
			if fam, known := familyOf(o.value.text); !o.value.known || !known || fam != posixFamily && fam != bashFamily {
				r.note("su runs a shell whose lines cannot be analysed")
			}
		}
	}
	if !given {
		r.note(name + " starts a shell")
	}
}

// runNamespace examines unshare and nsenter, which have options that change the programs that names lead to.
func runNamespace(r *reader, name string, got givens, rest []word) {
	if got.has("R") || got.has("root") || name == "nsenter" && got.has("r") {
		r.note(name + " runs commands of another root directory")
	}
	if len(rest) == 0 {
		r.note(name + " starts a shell")
	}
	r.command(rest)
}

// runChrt examines chrt. Some versions let users omit the priority.
func runChrt(r *reader, name string, _ givens, rest []word) {
	if len(rest) > 0 && rest[0].known && isDigits(rest[0].text) {
		r.command(rest[1:])
		return
	}
	r.note("whether " + name + " is given a priority is unknown")
	r.command(rest)
}

func runChroot(r *reader, name string, _ givens, rest []word) {
	r.note(name + " runs commands of another root directory")
	r.command(rest)
}

// runXargs examines a command that gets more words at its end, or in place of a placeholder.
func runXargs(r *reader, name string, got givens, rest []word) {
	mark := ""
	for _, o := range got {
		switch o.name {
		case "I", "J", "i", "replace":
			if mark = o.value.text; mark == "" {
				mark = "{}"
			}
			if !o.value.known {
				r.note("the replacement text of xargs is known only when the line runs")
			}
		case "process-slot-var":
			r.naming(o.value)
		}
	}
	if len(rest) == 0 {
		r.add("echo")
		return
	}
	words := marked(rest, mark)
	if mark == "" {
		words = append(words, word{many: true})
	}
	r.command(words)
}

// marked returns the words, of which those with the placeholder are marked unknown.
func marked(words []word, mark string) []word {
	out := slices.Clone(words)
	for i, w := range out {
		if at := strings.Index(w.text, mark); mark != "" && at >= 0 {
			out[i].known, out[i].text = false, w.text[:at]
		}
	}
	return out
}

func runFind(r *reader, name string, _ givens, args []word) {
	for i := 0; i < len(args); i++ {
		w := args[i]
		switch {
		case w.many:
			r.note("the arguments of find are known only when the line runs")
		case mayExec(args[i:]):
			r.note("an argument of find may be -exec")
		case slices.Contains([]string{"-exec", "-execdir", "-ok", "-okdir"}, w.text):
			end := i + 1
			for end < len(args) && !ends(args, end) {
				end++
			}
			r.command(marked(args[i+1:end], "{}"))
			i = end
		}
	}
}

// mayExec reports whether the first of these words of find is unknown and may be an -exec: then a command and its end
// would follow it. Commands do not begin with a dash.
func mayExec(args []word) bool {
	if args[0].known || args[0].text != "" && args[0].text[0] != '-' || len(args) < 3 || strings.HasPrefix(args[1].text, "-") {
		return false
	}
	return slices.ContainsFunc(args[2:], func(w word) bool {
		return !w.known && w.text == "" || w.known && (w.text == ";" || w.text == "+")
	})
}

// ends reports whether a command of find -exec ends at an index.
func ends(args []word, at int) bool {
	w := args[at]
	return w.known && (w.text == ";" || w.text == "+" && args[at-1].text == "{}")
}

func runFd(r *reader, name string, _ givens, args []word) {
	for i, w := range args {
		switch {
		case !w.known && (w.many || w.text == "" || w.text[0] == '-'):
			r.note("the arguments of " + name + " are known only when the line runs")
		case strings.HasPrefix(w.text, "--exec"), strings.HasPrefix(w.text, "-") && !strings.HasPrefix(w.text, "--") && strings.ContainsAny(w.text, "xX"):
			r.note(name + " runs its arguments, which are not inspected")
			r.command(marked(args[i+1:], "{"))
			return
		}
	}
}

func runWatch(r *reader, name string, got givens, rest []word) {
	if got.has("x") || got.has("exec") {
		r.command(rest)
		return
	}
	r.joined(rest, posixFamily, name)
}

func runScript(r *reader, name string, got givens, rest []word) {
	given := false
	for len(rest) > 0 {
		if len(rest) > 1 && rest[1].known && !strings.HasPrefix(rest[1].text, "-") {
			r.note(name + " runs its arguments on some systems")
			r.command(rest[1:])
		}
		if !rest[0].known {
			r.note("the arguments of script are known only when the line runs")
		}
		var more givens
		more, rest = r.options(name, rest[1:], &wrappers()[name].options)
		got = append(got, more...)
	}
	for _, o := range got {
		if o.name == "c" || o.name == "command" {
			given = true
			r.text(o.value, posixFamily, "script -c")
		}
	}
	if !given {
		r.note(name + " starts a shell")
	}
}

func runTracer(r *reader, name string, got givens, rest []word) {
	for _, o := range got {
		switch o.name {
		case "o", "output":
			if !o.value.known || strings.HasPrefix(o.value.text, "|") || strings.HasPrefix(o.value.text, "!") {
				r.note(name + " -o may run a command")
			}
		case "E":
			r.setting(o.value)
		case "F":
			r.note(name + " reads a file that is not inspected")
		}
	}
	r.command(rest)
}

func runFlock(r *reader, name string, _ givens, rest []word) {
	if len(rest) > 0 && rest[0].known && (rest[0].text == "-c" || rest[0].text == "--command") {
		if len(rest) > 1 {
			r.text(rest[1], posixFamily, "flock -c")
		}
		return
	}
	r.command(rest)
}

func runBusybox(r *reader, name string, _ givens, rest []word) {
	r.command(rest)
}
