package roots

import "testing"

// classes are lines that run the command rm though the parser may not find it: because a shell reads them differently
// from the parser, or because of a program's use of a name or a variable. Each must have the root rm, or be unknown.
var classes = []struct {
	name, shell string
	lines       []string
}{
	{"backquotes end at the next backquote", "bash", []string{
		"echo `echo '`; rm; echo '`", "echo `echo $'`; rm; echo '`", "echo `echo \"`; rm; echo \"`", "echo `echo # '`; rm #`",
		"cat <<E\n`echo '`; rm; echo '`\nE", "echo `echo $(`; rm; echo `)`", "echo \"`echo '`; rm; echo '`\"",
	}},
	{"an extended pattern is expanded", "bash", []string{
		"[[ x == @($(rm)) ]]", "[[ x == +(`rm`) ]]", "[[ x == @(<(rm)) ]]", "[[ x == @(${y:-$(rm)}) ]]", "[[ x == @(${!y}) ]]", "[[ x == @(${y@P}) ]]",
		"[[ x = a!(b|$(rm))c ]]", "case x in @($(rm))) ;; esac", "[[ x == @($y) ]]", `[[ x == @("$(rm)") ]]`,
	}},
	{"and so it is in mksh, in each argument", "mksh", []string{"echo @($(rm))", "case x in @($(rm))) ;; esac", "x=@(`rm`)", "[[ x = ?($(rm)) ]]"}},
	{"a word within an expansion holds a process substitution", "bash", []string{"echo ${x:-<(rm)}", "echo ${PWD%%>(rm)}", "echo ${x/a/<(rm)}", "echo ${x:=>(rm)}"}},
	{"what stands behind >& is expanded twice", "bash", []string{
		"echo >&'$(rm)'", `echo >&"\$(rm)"`, "read v <f; echo x >&$v", `read v <f; echo x >&"$v"`, "cat <&'$(rm)'", "echo >&a$(rm)", "v='$(rm)'; echo >&${v}x", `echo >&\$\(rm\)`,
	}},
	{"no comment begins behind an array", "bash", []string{"x=(1)#; rm", "x=()# rm", "x+=(1)# $(rm)", "declare -a x=(1)#; rm", "(ls)#; rm", "x=(1\n)#; rm"}},
	{"a coprocess is named only if it is a compound command", "bash", []string{
		"coproc rm >x", "coproc rm <<< x", "coproc rm 2>&1", "coproc X=1 rm", "coproc rm >x | cat", "coproc cat <<E\nE\n rm", "coproc ! rm", "coproc if { ls; }",
	}},
	{"wait -p names a variable", "bash", []string{
		"sleep 0 & wait -np 'a[$(rm)]'", "wait -fnp 'a[$(rm)]'", "wait -fp'a[$(rm)]'", "wait -n -p 'a[$(rm)]'", "wait -np PATH", "v='($(rm))'; sleep 0 & wait -np 'b[0]'; declare b=$v",
	}},
	{"let ends at an operator of the shell", "bash", []string{
		"rm=1; let 1&&rm", "rm=1; let 1|rm", "rm=1; let 1||rm", "rm=1; let 1&rm", "let 1<(rm)", "let 1>(rm)", "rm=1; let i=1;rm", "let x=2*3", "let x=y[1]", "let ~x",
	}},
	{"a declaration without a value takes the value away", "bash", []string{
		"f() { local PATH; ls; }; f", "f() { declare PATH; ls; }; f", "f() { typeset PATH; ls; }; f", "f() { local x PATH; ls; }; f", "f() { local -x PATH; ls; }; f",
		"export -n PATH; ls", "f() { command local PATH; ls; }; f", "f() { local 'PATH'; ls; }; f", "typeset -u PATH; ls", "f() { local IFS; ls; }; f",
	}},
	{"and so it does in zsh", "zsh", []string{"f() { local PATH; ls; }; f", "f() { readonly PATH; ls; }; f", "f() { typeset path; ls; }; f"}},
	{"an option names a variable", "bash", []string{"echo | xargs --process-slot-var=BASH_ENV bash -c ls", "echo | xargs --process-slot-var BASH_ENV bash -c ls", "read -raPATH", `echo | xargs --process-slot-var="$x" bash -c ls`}},
	{"zsh runs stty with STTY", "zsh", []string{"STTY=';rm' ls", "export STTY=';rm'; ls"}},
	{"zsh computes with numbers of tests and variables", "zsh", []string{
		"a=(1); [ -t 'a[$(rm)]' ]", "a=(1); test -t 'a[$(rm)]'", "a=(1); [[ -t 'a[$(rm)]' ]]", `[ -t "$x" ]`, "[[ -t $x ]]", "a=(1); ERRNO='a[$(rm)]'",
		"a=(1); ZLE_RPROMPT_INDENT='a[$(rm)]'", "echo 'a[$(rm)]' | read ERRNO", "REPORTTIME='a[$(rm)]'; ls", "[ ! -t 'a[$(rm)]' ]", "LOGCHECK='a[$(rm)]'", "DIRSTACKSIZE='a[$(rm)]'; pushd x",
	}},
	{"eval and trap read as zsh does", "zsh", []string{"eval '{rm}'", "trap '{rm}' EXIT", "{\\\\\n\nrm}", "{''\nrm}", "{\\x rm}", "rm() { echo a}; rm", "eval 'ls *(e:rm:)'"}},
	{"-b ends the options of zsh", "bash", []string{"zsh -b -c ls", "zsh -cb ls", "sh -b -c ls", "mksh -D -c ls", "dash -T -c ls"}},
	{"mksh assigns a here-document", "mksh", []string{"x=<<<'a[$(rm)]'; echo $((x))", "x=<<'E'\na[$(rm)]\nE\necho $((x))", "OPTIND=<<<'a[$(rm)]'", "x+=<<<y"}},
	{"a name with a slash is no function", "mksh", []string{"/bin/rm() { :; }; /bin/rm x", "function ./rm { :; }; ./rm"}},
	{"a function of another process is none", "bash", []string{"function rm { :; } | cat; rm x", "function rm { :; } & rm x", "rm() { :; } | cat; rm x", "function rm { :; } && ls | cat; rm", "! rm() { :; } & rm x"}},
	{"behind an error bash goes on with the next line", "bash", []string{
		": $((1/0)); rm() { :; }\nrm x", "readonly r=1; r=2; rm() { :; }\nrm x", "shopt -s failglob; echo zz*; rm() { :; }\n\nrm x", ": $((1/0)); a() { :; }; rm() { :; }\na; rm x",
		": $((1/0)); \\\nrm() { :; }\nrm x", "b=(@(\nrm #))", "b=(@(x)\nrm\n)", "declare -a b=(+(x)\nrm\n)",
	}},
	{"a number is a descriptor to mksh", "mksh", []string{"9&>x rm", "c=1 9&>>x rm"}},
	{"a program that is started by another name is another program", "bash", []string{"exec -a rm busybox x", "env -a rm busybox x", "env --argv0=rm busybox x", "exec -ca rm busybox x"}},
	{"zsh starts by another name with ARGV0", "zsh", []string{"ARGV0=rm busybox x"}},
	{"old versions of ssh make a shell line of hosts", "bash", []string{"ssh -N -J '`rm`@x' 127.0.0.1", "ssh -N '`rm`@x'", "ssh -N -l '`rm`' x", "ssh -N -o 'ProxyJump=`rm`@x' x", "ssh -N x -J '$(rm)'"}},
	{"without PATH a shell looks in the directory", "bash", []string{"env -i bash -c ls", "env - sh -c ls", "exec -c bash -c ls", "env -i nice bash -c ls", "env --ignore-environment zsh -c ls"}},
	{"what a process has open is run by path", "bash", []string{"/proc/self/cwd/ls", "exec 3</bin/rm; /proc/self/fd/3 x", "/dev/fd/3", "/dev/stdin <x", "../../proc/self/fd/3", "/proc/1/root/bin/ls", "/./proc/self/exe", "//proc/self/exe"}},
	{"a variable makes a program run another", "bash", []string{
		"CFLAGS=-fplugin=./x make", "ZIPOPT=-TT zip x", "AWS_SHARED_CREDENTIALS_FILE=x aws s3 ls", "PYTEST_ADDOPTS='-p x' pytest", "ANSIBLE_CONFIG=x ansible", "RSYNC_CONNECT_PROG=rm rsync x::y .",
		"MANROFFOPT=-x man ls", "CLOUDSDK_PYTHON=./rm gcloud", "PIP_CONFIG_FILE=x pip list", "LDFLAGS=-x make", "KUBECTL_EXTERNAL_DIFF=rm kubectl diff", "NODE_EXTRA_OPTIONS=x node",
	}},
	{"unset uncovers the program that a function hides", "bash", []string{
		"f() { unset rm; }; eval 'rm() { :; }; f; rm'", "trap 'unset rm' DEBUG; eval 'rm() { :; }; :; rm'", "trap 'unset rm' USR1; eval 'rm() { :; }; kill -USR1 $$; rm'",
		"f() { command unset rm; }; eval 'rm() { :; }; f; rm'", "f() { builtin unset -f rm; }; eval 'rm() { :; }; f; rm'", "eval 'f() { unset rm; }'; eval 'rm() { :; }; f; rm'",
		`f() { eval unset rm; }; eval "rm() { :; }; f; rm"`, "f() { unset rm; }; trap 'rm() { :; }; f; rm' EXIT", "f() { unset rm; }; eval \"eval 'rm() { :; }; f; rm'\"",
		`bash -c "f() { unset rm; }; eval 'rm() { :; }; f; rm'"`, "f() { unset rm; }; rm() { :; }; f; rm",
	}},
	{"and so it does in other shells", "sh", []string{"f() { unset -f rm; }; eval 'rm() { :; }; f; rm'", "trap 'unset -f rm' EXIT; eval 'rm() { :; }; (exit); rm'"}},
	{"some shells assign to what is no name to others", "zsh", []string{
		"1=2 rm", "0=1 rm", "1+=2 rm", "1= rm", "12='x y' rm", "1=(2) rm", "if 1=2 rm; then :; fi", "1=2 exec rm", "time 1=2 rm", "X=1 1=2 rm", ">x 1=2 rm", "! 1=2 rm", "1=$x rm",
		"\u00e9=1 rm", "a\u00e9=1 rm", "\uff58=1 rm", "\u00e9[1]=2 rm", "\u00e9+=1 rm", "\u0967=1 rm", "eval '1=2 rm'", "sh -c 'ls'; \u00e9=1 rm",
	}},
	{"and so they do in others, and in locales of one byte for each character", "ksh93", []string{"a.b=1 rm", ".sh.x=1 rm", "\u00e9=1 rm"}},
	{"a bash goes by its locale", "bash", []string{"\u00ea=1 rm", "x\u00b5+=1 rm", "{\u00ea}>x rm", "X=1 {\u00ea}<&0 rm"}},
	{"a number before &> is a descriptor to mksh", "mksh", []string{"2&>x rm", "12&>x rm", "2&>>x rm", "X=1 2&>x rm", "2&>} rm"}},
	{"and to zsh", "zsh", []string{"2&>x rm", "2&>>x rm"}},
	{"bash closes with >&-, whatever follows in the word", "bash", []string{"sh >&-h -c rm", "sh <&-h -c rm", "sh 2>&-h -c rm", "sh >&-'h' -c rm"}},
	{"and so does a descriptor's name", "ksh93", []string{"{\u00ea}>x rm", "{a.b}>x rm"}},
	{"zsh computes with what printf is given behind options", "zsh", []string{
		"x='path[$(rm)]'; printf -- %d x", "x='path[$(rm)]'; printf -v y %d x", `x='path[$(rm)]'; printf -- %d "$x"`, `x='path[$(rm)]'; printf -v y %d "$x"`,
		"x='path[$(rm)]'; printf -v y -- %d x", "x='path[$(rm)]'; printf -vy %d x", "x='path[$(rm)]'; printf -%d x", "x='path[$(rm)]'; printf -- -v%d x", "x='path[$(rm)]'; printf -v %s %d x",
	}},
	{"mksh computes with the words of ulimit", "mksh", []string{
		"x='y[$(rm)]'; ulimit -n x", "n='y[$(rm)]'; ulimit n", "d='y[$(rm)]'; ulimit -c d", "limits='y[$(rm)]'; ulimit limits", "x='y[$(rm)]'; ulimit -St x",
		"x='y[$(rm)]'; ulimit -n -- x", "x='y[$(rm)]'; ulimit -n -- -x", "x='y[$(rm)]'; ulimit -nx",
	}},
	{"and so it does as sh", "sh", []string{"x='y[$(rm)]'; ulimit -n x", "n='y[$(rm)]'; ulimit n", "x='y[$(rm)]'; ulimit -n -- -x"}},
	{"zsh computes the subscript of each expansion", "zsh", []string{
		"x='path[$(rm)]'; echo $0[x]", "x='path[$(rm)]'; echo \"$0[x]\"", "x='path[$(rm)]'; echo a$0[x]b", "x='path[$(rm)]'; echo \"${y:-$0[x]}\"", "x='path[$(rm)]'; for y in $0[x]; do :; done",
		"x='path[$(rm)]'; ls > $0[x]", "x='path[$(rm)]'; cat <<< $0[x]", "x='path[$(rm)]'; case $0[x] in y) ;; esac", "x='path[$(rm)]'; cat <<E\n$0[x]\nE",
		"x='path[$(rm)]'; echo $?[x]", "x='path[$(rm)]'; echo $#[x]", "x='path[$(rm)]'; echo $$[x]", "x='path[$(rm)]'; echo $![x]", "x='path[$(rm)]'; echo $@[x]", "x='path[$(rm)]'; echo $-[x]",
		"x='path[$(rm)]'; echo $_[x]", "x='path[$(rm)]'; echo $a\u00e9[x]", "x='path[$(rm)]'; echo \"$a\u00e9[x]\"", "x='path[$(rm)]'; [[ $0[x] == y ]]", "x='path[$(rm)]'; echo $+0[x]", "x='path[$(rm)]'; echo $#0[x]",
		"x='path[$(rm)]'; y=$0[x]", "x='path[$(rm)]'; y=($0[x])", "x='path[$(rm)]'; echo $10[x]",
	}},
	{"behind time, a bash finds no reserved words in a substitution", "bash", []string{
		"ls \"$(time case '' in *)'$(rm)';esac)\"", "ls \"$(time -p case x in *)'$(rm)';; esac)\"", "ls \"$(time ! case x in *)'$(rm)';esac)\"", "ls \"$(! time case x in *)'$(rm)';esac)\"",
		"ls \"$(ls | time case x in *)'$(rm)';esac)\"", "ls \"$(time { case x in *)'$(rm)';esac; })\"", "ls ${x:-\"$(time case x in *)'$(rm)';esac)\"}", "cat <<E\n$(time case x in *)'$(rm)';esac)\nE", "ls \"$(time case x in *)'`rm`';esac)\"",
		"ls \"$((time case x in *)'$(rm)';esac))\"", "ls \"$( (time case x in *)'$(rm)';esac) )\"", "bash -c \"ls \\\"\\$(time case x in *)'\\$(rm)';esac)\\\"\"", "ls \"$(time case x in *)'$(rm)';esac | ls)\"",
		"ls \"$(time case x in (y) ls;; *)'$(rm)';esac)\"", "ls <(ls \"$(time case x in *)'$(rm)';esac)\")", "x=\"$(time if ls; then case x in *)'$(rm)';esac; fi)\"", "x=\"$(time& case x in *)'$(rm)';esac)\"",
		"x=\"$(time x=(1) '$(rm)')\"", "x=\"$(time x+=(y)'$(rm)')\"",
	}},
	{"${ …;} ends at another brace", "mksh", []string{
		"ls \"${|rm};}\"", "ls ${ rm};}[", "ls \"${ rm};}\"", "ls ${|rm};}", "x=${ rm};}", "cat <<E\n${ rm};}\nE", "ls \"${x:-${ rm};}}\"", "ls ${\nrm};}", "ls ${\trm};}", "ls \"${y:-=${|rm};}}\"",
		"rm() { :; }; x=${ unset -f rm;}; rm",
	}},
	{"and so it does in other shells", "ksh93", []string{"ls ${ rm};}[", "ls \"${ rm};}\""}},
	{"and in a bash that has it", "bash", []string{"ls ${ rm};}[", "ls \"${|rm};}\""}},
	{"a here-document is expanded with the statement that it belongs to", "mksh", []string{
		"<<E;function rm { :;}\n$(rm)\nE", "cat <<E;function rm { :;}\n$(rm)\nE", "cat <<-E;function rm { :;}\n\t`rm`\n\tE", "cat <<E;function rm { :;}\n${x:-$(rm)}\nE\nls", "cat <<E; ls; function rm { :;}\n$(ls $(rm))\nE",
		"if ls <<E; then ls; fi; function rm { :;}\n$(rm)\nE", "ls | cat <<E; function rm { :;}\n$(rm)\nE", "x=<<E;function rm { :;}\n$(rm)\nE", "cat <<A; cat <<B; function rm { :;}\nA\n$(rm)\nB", "f() { cat <<E\n$(rm)\nE\n}; f; rm() { :; }",
	}},
	{"and so it is in a bash", "bash", []string{
		"cat <<E;rm() { :;}\n$(rm)\nE", "cat <<E;function rm { :;}\n$(rm)\nE", "function rm { :; } <<E\n$(rm)\nE", "bash -c 'cat <<E;rm() { :;}\n$(rm)\nE'", "cat <<E & rm() { :;}\n$(rm)\nE", "{ cat; } <<E;rm() { :;}\n$(rm)\nE",
		"cat <<E && ls; rm() { :;}\n$(rm)\nE\nls",
	}},
	{"and in sh", "sh", []string{"cat <<E;rm() { :;}\n$(rm)\nE", "cat <<E; rm() { :;}\n`rm`\nE"}},
	{"and in a ksh93", "ksh93", []string{"cat <<E;function rm { :;}\n$(rm)\nE"}},
	{"and in zsh", "zsh", []string{"cat <<E;rm() { :;}\n$(rm)\nE"}},
	{"a descriptor is an integer to zsh", "zsh", []string{
		"exec {x}>$\nx='path[$(rm)]'", "exec {x}>y; x='path[$(rm)]'", "exec {x}>&1; for x in 'path[$(rm)]'; do :; done", "exec {x}>&1; echo 'path[$(rm)]' | read x", "exec {x}<<<y; x='path[$(rm)]'", "ls {x}>y; x=$y",
		"exec {x}>&1; f() { x='path[$(rm)]'; }; f", "exec {x}>&1; local x='path[$(rm)]'", "f() { x='path[$(rm)]'; }; exec {x}>&1; f", "exec {x}>&1; exec {x}>&-; x='path[$(rm)]'",
	}},
	{"and so it is before &>", "zsh", []string{
		"exec {x}&>o; x='path[$(rm)]'", "exec {x}&>>o; echo 'path[$(rm)]' | read x", ": {x}&>o && x='path[$(rm)]'", "{x}&>o ls; x='path[$(rm)]'", "ls|{x}&>o; x='path[$(rm)]'", "exec {OPTIND}&>o; OPTIND=$y",
	}},
	{"and that of a length", "zsh", []string{
		"x='path[$(rm)]' y=\"$#?[x]\"", "x='path[$(rm)]'; y=\"$#@[x]\"", "x='path[$(rm)]'; echo \"$#*[x]\"", "x='path[$(rm)]'; echo \"$#-[x]\"", "x='path[$(rm)]'; echo \"$#![x]\"", "x='path[$(rm)]'; echo \"$##[x]\"", "x='path[$(rm)]'; cat <<E\n$#?[x]\nE",
	}},
	{"zsh finds an expansion behind a dollar", "zsh", []string{"1 $${ #};rm", "echo a$${ #}; rm", "echo $$$${ #};rm", "echo \"x\"$${x #}\nrm", "x=$${ #};rm"}},
	{"whether esac is a pattern depends on the shell", "sh", []string{
		"for x in \"$(case '' in(esac)'$(rm)';esac)\";do :;done", "ls \"$(case x in (esac) '$(rm)';; esac)\"", "ls \"$(case x in x) ls;; (esac)'$(rm)';; esac)\"", "ls \"$(case x in (x|esac)'$(rm)';; esac)\"",
	}},
}

// TestClasses checks that no line of a class passes a list: rm is found, or the line is unknown.
func TestClasses(t *testing.T) {
	for _, class := range classes {
		for _, line := range class.lines {
			found := Line{Text: line, Shell: class.shell}.Roots()
			_, denied := found.Denied([]string{"rm"})
			if !found.Unknown() && !denied {
				t.Errorf("%s: %q has only the roots %q", class.name, line, found.Roots)
			}
		}
	}
}

// TestHarmless checks that the elements of the classes remain known if they mean the same in all shells.
func TestHarmless(t *testing.T) {
	for _, test := range []struct{ shell, line, want string }{
		{"bash", "echo `git log --format='%h' \"$x\"`", "echo git"},
		{"bash", "[[ $x == @(a|b*) ]] && ls", "ls"},
		{"bash", "[[ $x == *$y ]] && ls", "ls"},
		{"bash", "[[ $x =~ ^[a-z]+$ ]] && ls", "ls"},
		{"bash", `echo "5$" a$ $ "$"`, "echo"},
		{"bash", `grep -E 'a$|b' x >&2`, "grep"},
		{"bash", `exec {fd}>x; echo y >&$fd; exec {fd}>&-`, "exec echo"},
		{"bash", "x=(1) # rm", ""},
		{"bash", "set -e; f() { ls; }; f", "set ls"},
		{"bash", "set -e\nf() { ls; }; g() { f; }\ng\nf", "set ls"},
		{"bash", "ls a9>x", "ls"},
		{"bash", "ls 9>x", "ls"},
		{"bash", "ls;# rm", "ls"},
		{"bash", "coproc cat", "cat"},
		{"bash", "coproc LOG { cat; }", "cat"},
		{"bash", "wait", "wait"},
		{"bash", `sleep 1 & wait -n $!`, "sleep wait"},
		{"bash", "i=1; let i=i+1", "let"},
		{"bash", "f() { local x y=1; ls; }; f", "local ls"},
		{"bash", "export PATH; ls", "export ls"},
		{"bash", "sh -ec ls", "sh ls"},
		{"bash", "bash -b -c ls", "bash ls"},
		{"bash", "env -i ls", "env ls"},
		{"bash", "env - PAGER=cat git log", "env cat git"},
		{"bash", "dev/build.sh", "dev/build.sh"},
		{"bash", "ssh -N -J a@b:22,c -l me host", "ssh"},
		{"bash", "cat <<'E'\n$(rm) @($x) `\nE", "cat"},
		{"bash", "cat <<E\n5$ <(x)\nE", "cat"},
		{"bash", "DIR=/x FILE=y; ls", "ls"},
		{"zsh", "[ -t 1 ] && ls", "[ ls"},
		{"zsh", "[[ -t 1 ]] && ls", "ls"},
		{"mksh", "x= ; cat <<<y", "cat"},
		{"bash", "bash -c 'f() { ls; }; f'", "bash ls"},
		{"bash", "eval 'f() { ls; }; f'", "eval ls f"},
		{"zsh", "unset x; ls", "unset ls"},
		{"bash", "dd if=x of=y; env 1", "dd env 1"},
		{"bash", "./x=1 ls", "./x=1"},
		{"zsh", "1x ls", "1x"},
		{"zsh", "printf -- '%s\\n' \"$x\"", "printf"},
		{"zsh", "printf -v y %s \"$x\"", "printf"},
		{"zsh", "printf -- %d 1", "printf"},
		{"mksh", "ulimit -Sn 100; ulimit -c unlimited; ulimit -a; ulimit -SHt", "ulimit"},
		{"zsh", "echo $0 \"$0:[x]\" ${0}[x] '$0[x]'", "echo"},
		{"bash", "echo \"$0[x]\"", "echo"},
		{"bash", "echo x2&>x", "echo"},
		{"bash", "echo x >&- 2>&- <&-", "echo"},
		{"mksh", "echo 2 &>x", "echo"},
		{"bash", "x=$(time ls)", "time ls"},
		{"bash", "x=$( { time -p git log | less; } 2>&1 )", "time git less"},
		{"bash", "x=$(! time X=1 ls && case x in *) git;; esac)", "time ls git"},
		{"bash", "time { ls; }", "time ls"},
		{"bash", "time case x in *) ls \"$(git)\";; esac", "time ls git"},
		{"bash", "x=$(case x in *) ls;; esac)", "ls"},
		{"bash", "f() { git log; }; cat <<E\n$(f)\nE", "git cat"},
		{"bash", "f() { git log; }\ncat <<E\n$(f)\nE\ng() { ls; }; g", "git cat ls"},
		{"mksh", "function f { ls; }; cat <<E; f\n$(f)\nE", "ls cat"},
		{"bash", "echo ${x}&>y; echo \"{x}\"&>y; { ls; }&>y", "echo ls"},
		{"bash", "case $1 in end|in|-) ls;; 'esac') git;; (*) ls;; esac", "ls git"},
		{"zsh", "ls \"$x-[y]\" \"$#\" \"$#?\"", "ls"},
		{"zsh", "ls x.$$ \"$$\" \"x$$.y\" $$/x >o.$$", "ls"},
		{"zsh", "exec {fd}>x; echo y >&$fd; exec {fd}>&-", "exec echo"},
		{"ksh93", "echo ${x} \"${x:-y}\" $(ls)", "echo ls"},
	} {
		if got := (Line{Text: test.line, Shell: test.shell}).Roots(); written(got) != test.want {
			t.Errorf("%s: %q: %q (%s), not %q", test.shell, test.line, written(got), got.Why, test.want)
		}
	}
}
