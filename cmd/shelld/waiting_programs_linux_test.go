package main

import (
	"strings"
)

// sixtyLines is a text of which a pager shows only the first lines.
var sixtyLines = strings.Repeat("a line of many\n", 59) + "the last line\n"

// shellDialogue returns the dialogue of a shell with the prompt "NAME> ".
func shellDialogue(name string, short bool, argv ...string) dialogue {
	prompt := name + "> "
	return dialogue{program{name: name, group: "shells", argv: argv, short: short, env: map[string]string{"PS1": prompt}}, []step{
		{ends: prompt, prompt: name + ">", input: "echo one\n"},
		{ends: `one\r*\n[^\n]*` + prompt, input: "sleep 0.3; echo two\n"},
		{ends: `two\r*\n[^\n]*` + prompt, input: "cat\n"},
		{ends: `cat\r*\n[^\n]*`, kind: "line", input: "back\n"},
		{ends: `back\r\nback\r\n`, kind: "line", eof: true},
		{ends: `[^\n]*` + prompt},
	}}
}

// helperDialogue returns the dialogue of the helper, which itself reports when it reads.
func helperDialogue(mode, kind, prompt string) dialogue {
	d := dialogue{program{name: mode, group: "made for it", argv: []string{"shelld-waits", mode}, short: true}, nil}
	for n := range 3 {
		d.steps = append(d.steps, step{reads: n + 1, kind: kind, prompt: prompt, input: "x\n"})
	}
	return d
}

// pythonDialogue returns the dialogue of a program that does the same without the other threads of a runtime.
func pythonDialogue(name, before, ready string) dialogue {
	d := helperDialogue(name, "line|raw", "")
	d.argv = []string{"python3", "-c", `
import os, select, time
log = os.open("reads", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
p = select.poll()
p.register(0, select.POLLIN)
note = lambda what: os.write(log, b"%s %d\n" % (what, time.monotonic_ns()))
while True:
    ` + before + `
    note(b"before")
    ` + ready + `
    os.read(0, 100)
    note(b"after")
`}
	return d
}

// one returns the dialogue of a program that asks once.
func one(p program, st ...step) dialogue { return dialogue{p, st} }

const repo = `git init -q . && seq 1 9 >f && git add f && git commit -q -m one && sed -i 's/3/three/' f && sed -i 's/8/eight/' f`

func dialogues() []dialogue {
	all := []dialogue{
		helperDialogue("line", "line", `^name\? ?$`),
		helperDialogue("silent", "line", ""),
		helperDialogue("secret", "password", `^PIN: ?$`),
		helperDialogue("key", "raw", ""),
		helperDialogue("tty", "line", `at the terminal:`),
		helperDialogue("later", "line", ""),
		helperDialogue("works", "line", ""),
		helperDialogue("in parts", "line", `^a prompt in parts: ?$`),
		helperDialogue("after much", "line", `all of it\?`),
		helperDialogue("poll", "line", ""),
		helperDialogue("poll, 2 s", "line", ""),
		helperDialogue("select", "line", ""),
		helperDialogue("epoll", "line", ""),
		helperDialogue("descriptor 9", "line", ""),
		helperDialogue("other thread", "line", ""),
		pythonDialogue("line, of python", `os.write(1, b"name? ")`, `None`),
		// Its terminal is the server, which answers: no person is asked.
		pythonDialogue("asks its terminal, of python", `
    import tty; tty.setraw(0)
    for i in range(10):
        os.write(1, b"a line\r\n" * 50 + b"\x1b[6n")
        while os.read(0, 1) != b"R": pass
        time.sleep(0.005)
    os.write(1, b"ready: ")
    tty.setcbreak(0)`, `None`),
		pythonDialogue("poll, of python", `os.write(1, b"name? ")`, `p.poll()`),
		pythonDialogue("later, of python", `os.write(1, b"name? "); time.sleep(0.3)`, `None`),
		one(program{name: "much later", group: "made for it", argv: []string{"shelld-waits", "much later"}}, step{reads: 1, kind: "line"}),

		shellDialogue("bash", true, "bash", "--norc", "--noprofile"),
		shellDialogue("dash", true, "dash", "-i"),
		one(program{name: "mksh", group: "shells", argv: []string{"mksh"}},
			step{ends: `[#$] `, input: "sleep 0.3; echo one\n"}, step{ends: `one\r*\n[^\n]*[#$] `}),
		shellDialogue("zsh", false, "zsh", "-f"),
		one(program{name: "busybox sh", group: "shells", argv: []string{"busybox", "sh"}, env: map[string]string{"PS1": "busybox> "}},
			step{ends: `busybox> `, input: "echo one\n"}, step{ends: `one\r\n[^\n]*busybox> `}),
		one(program{name: "fish", group: "shells", argv: []string{"fish", "--no-config", "-C", `function fish_prompt; echo "fish> "; end; function fish_right_prompt; end; set -g fish_greeting`}},
			step{screen: `(?m)^fish>\z`, input: "echo one\r"},
			step{screen: `(?m)^one\nfish>\z`, input: "sleep 0.3; echo two\r"},
			step{screen: `(?m)^two\nfish>\z`, input: "cat\r"},
			step{screen: `fish> cat\z`, input: "back\n"},
			step{screen: `\nback\nback\z`}),
		one(program{name: "bash in bash", group: "shells", argv: []string{"bash", "--norc", "--noprofile"}, env: map[string]string{"PS1": "outer> "}},
			step{ends: `outer> `, input: "PS1='inner> ' bash --norc --noprofile\n"},
			step{ends: `inner> `, input: "cat | cat\n"},
			step{ends: `cat\r\n[^\n]*`, input: "x\n"},
			step{ends: `x\r\nx\r\n`, eof: true},
			step{ends: `inner> `, input: "exit\n"},
			step{ends: `exit\r\n[^\n]*outer> `}),
		one(program{name: "bash read", group: "shells", argv: []string{"bash", "-c", `for i in 1 2 3; do echo question $i; read x; done`}, short: true},
			step{ends: `question 1\r\n`, kind: "line", input: "a\n"}, step{ends: `question 2\r\n`, kind: "line", input: "a\n"}, step{ends: `question 3\r\n`, kind: "line"}),
		one(program{name: "bash read -p", group: "shells", argv: []string{"bash", "-c", `for i in 1 2 3; do read -p "go $i? " x; done`}, short: true},
			step{ends: `go 1\? `, kind: "line", prompt: `^go 1\? ?$`, input: "a\n"}, step{ends: `go 2\? `, kind: "line", prompt: `^go 2\? ?$`, input: "a\n"}, step{ends: `go 3\? `, prompt: `^go 3\? ?$`}),
		one(program{name: "bash read -e", group: "shells", argv: []string{"bash", "-c", `for i in 1 2; do read -e -p "go $i? " x; done`}},
			step{ends: `go 1\? `, prompt: `^go 1\? ?$`, input: "a\n"}, step{ends: `go 2\? `, prompt: `^go 2\? ?$`}),
		one(program{name: "bash read -s", group: "shells", argv: []string{"bash", "-c", `for i in 1 2; do read -s -p "word $i: " x; echo; done`}, short: true},
			step{ends: `word 1: `, kind: "password", prompt: `^word 1: ?$`, input: "a\n"}, step{ends: `word 2: `, kind: "password", prompt: `^word 2: ?$`}),
		one(program{name: "bash read -n1", group: "shells", argv: []string{"bash", "-c", `for i in 1 2; do read -n1 -p "key $i" x; echo; done`}, short: true},
			step{ends: `key 1`, kind: "raw", input: "y"}, step{ends: `key 2`, kind: "raw"}),
		one(program{name: "bash read -t", group: "shells", argv: []string{"bash", "-c", `for i in 1 2; do read -t 20 -p "soon $i: " x; done`}, short: true},
			step{ends: `soon 1: `, kind: "line", input: "y\n"}, step{ends: `soon 2: `, kind: "line"}),
		one(program{name: "bash select", group: "shells", argv: []string{"bash", "-c", `select x in a b; do echo got $x; done`}},
			step{ends: `#\? `, kind: "line", input: "1\n"}, step{ends: `got a\r\n[^\n]*#\? `, kind: "line"}),

		one(program{name: "python3", group: "REPLs", argv: []string{"python3", "-q"}, short: true},
			step{ends: `>>> `, input: "1+1\n"},
			step{ends: `2\r\n[^\n]*>>> `, input: "import time; time.sleep(0.3)\n"},
			step{ends: `\n[^\n]*>>> `, input: "sum(range(10**7))\n"},
			step{ends: `49999995000000\r\n[^\n]*>>> `, input: "input('what? ')\n"},
			step{ends: `\nwhat\? `, prompt: `^what\? ?$`}),
		one(program{name: "python3 -m pdb", group: "REPLs", argv: []string{"python3", "-m", "pdb", "x.py"}, files: map[string]string{"x.py": "x = 1\ny = 2\n"}},
			step{ends: `\(Pdb\) `, input: "n\n"}, step{ends: `y = 2\r\n[^\n]*\(Pdb\) `}),
		one(program{name: "ipython", group: "REPLs", argv: []string{"ipython", "--no-banner", "--simple-prompt", "--colors=NoColor"}},
			step{ends: `In \[1\]: `, input: "1+1\n"}, step{ends: `In \[2\]: `}),
		one(program{name: "node", group: "REPLs", argv: []string{"node"}, short: true},
			step{ends: `> `, input: "1+1\n"},
			step{ends: `2\r\n> `, input: "await new Promise(r => setTimeout(r, 300))\n"},
			step{ends: `undefined\r\n> `, input: "for (let e = Date.now() + 300; Date.now() < e;);\n"},
			step{ends: `undefined\r\n> `}),
		one(program{name: "node readline", group: "REPLs", argv: []string{"node", "x.js"}, short: true, files: map[string]string{"x.js": `
			const rl = require('readline').createInterface({input: process.stdin, output: process.stdout});
			const ask = n => rl.question('name ' + n + '? ', () => setTimeout(ask, 200, n + 1));
			ask(1);`}},
			step{ends: `name 1\? `, prompt: `^name 1\? ?$`, input: "a\n"}, step{ends: `name 2\? `, input: "a\n"}, step{ends: `name 3\? `}),
		one(program{name: "irb", group: "REPLs", argv: []string{"irb", "-f", "--nocolorize", "--noautocomplete"}},
			step{screen: `irb\(main\):001:0>\z`, listening: true, input: "1+1\n"}, step{screen: `=> 2 *\nirb\(main\):002:0>\z`, listening: true}),
		one(program{name: "ed", group: "REPLs", argv: []string{"ed", "f"}, files: map[string]string{"f": "hello world\n"}, short: true},
			step{ends: `12\r\n`, kind: "line", input: "p\n"}, step{ends: `hello world\r\n`, kind: "line", input: "a\n"}, step{ends: `a\r\n`, kind: "line", input: "more\n"}, step{ends: `more\r\n`}),
		one(program{name: "ed -p", group: "REPLs", argv: []string{"ed", "-p", "ed* ", "f"}, files: map[string]string{"f": "hello world\n"}},
			step{ends: `ed\* `, kind: "line", prompt: `ed\*`, input: "p\n"}, step{ends: `world\r\ned\* `, kind: "line"}),
		one(program{name: "bc", group: "REPLs", argv: []string{"bc"}},
			step{ends: "`warranty'\\. *\r\n", input: "6*7\n"}, step{ends: `\n\r*42\r\n`, input: "2^200000 > 1\n"}, step{ends: `\n\r*1\r\n`}),
		one(program{name: "dc", group: "REPLs", sh: `echo ready; exec dc`, needs: []string{"dc"}},
			step{ends: `ready\r\n`, kind: "line", input: "6 7 * p\n"}, step{ends: `\n42\r\n`, kind: "line"}),
		one(program{name: "gdb", group: "REPLs", argv: []string{"gdb", "-q", "-nx", "/bin/sleep"}, short: true},
			step{ends: `\(gdb\) `, prompt: `\(gdb\)`, input: "print 6*7\n"}, step{ends: `42\r\n[^\n]*\(gdb\) `, input: "run 0.3\n"},
			step{ends: `exited normally\]\r\n[^\n]*\(gdb\) `, input: "start\n"}, step{ends: `\(gdb\) |\(y or \[n\]\) `}),
		one(program{name: "sqlite3", group: "REPLs", argv: []string{"sqlite3"}},
			step{ends: `sqlite> `, input: "select 6*7;\n"}, step{ends: `42\r\n[^\n]*sqlite> `, input: "select\n"}, step{ends: `\.\.\.> `}),
		one(program{name: "lua", group: "REPLs", argv: []string{"lua5.4"}},
			step{ends: `> `, input: "6*7\n"}, step{ends: `42\r\n[^\n]*> `}),
		one(program{name: "perl -d", group: "REPLs", argv: []string{"perl", "-d", "-e", "1"}},
			step{ends: `DB<1> `, input: "p 6*7\n"}, step{ends: `42\r\n[^\n]*DB<2> `}),
		one(program{name: "php -a", group: "REPLs", argv: []string{"php", "-a"}},
			step{ends: `php > `, input: "echo 6*7, PHP_EOL;\n"}, step{ends: `42\r\n[^\n]*php > `}),
		one(program{name: "tclsh", group: "REPLs", argv: []string{"tclsh"}},
			step{ends: `% `, kind: "line", input: "expr 6*7\n"}, step{ends: `42\r*\n% `, kind: "line"}),
		one(program{name: "rlwrap cat", group: "REPLs", sh: `echo ready; exec rlwrap cat`, needs: []string{"rlwrap"}},
			step{ends: `ready\r\n[^\n]*`, listening: true, input: "one\n"}, step{ends: `one\r*\none\r*\n\r*`, listening: true}),

		one(program{name: "vim", group: "full screen", argv: []string{"vim", "-u", "NONE", "-i", "NONE", "-N", "f.txt"}, files: map[string]string{"f.txt": "line one\nline two\n"}, short: true},
			step{screen: `"f\.txt" 2L, 18B[^\n]*1,1 +All\z|"f\.txt" 2L, 18B\z`, kind: "fullscreen", input: "i"},
			step{screen: `-- INSERT --\z`, kind: "fullscreen", input: "new "},
			step{screen: `\Anew line one`, kind: "fullscreen", keys: []string{"Escape"}, input: ""},
			step{screen: `~\z`, kind: "fullscreen", input: ":sleep 400m | echo 'slept'\r"},
			step{screen: `\nslept\z`, kind: "fullscreen", input: ":q\r"},
			step{screen: `E37[^\n]*\z`, kind: "fullscreen"}),
		one(program{name: "vi of busybox", group: "full screen", argv: []string{"busybox", "vi", "f.txt"}, files: map[string]string{"f.txt": "line one\nline two\n"}},
			step{screen: `- f\.txt 1/2 50%\z`, input: "j"}, step{screen: `- f\.txt 2/2 100%\z`}),
		one(program{name: "nano", group: "full screen", argv: []string{"nano", "-I", "f.txt"}, files: map[string]string{"f.txt": "line one\n"}, short: true},
			step{screen: `Read 1 line \][\s\S]*\^X Exit`, kind: "fullscreen", input: "new "},
			step{screen: `\nnew line one`, kind: "fullscreen", keys: []string{"Ctrl-X"}},
			step{screen: `Save modified buffer\?[\s\S]* N No +\^C Cancel`, kind: "fullscreen", input: "y"},
			step{screen: `File Name to Write: f\.txt[\s\S]*\^C Cancel`, kind: "fullscreen"}),
		one(program{name: "less", group: "full screen", argv: []string{"less", "f"}, files: map[string]string{"f": sixtyLines}, short: true},
			step{screen: `\nf\z`, kind: "fullscreen", input: " "}, step{screen: `\n:\z`, kind: "fullscreen", input: "/last\r"},
			step{screen: `the last line\n[\s\S]*\(END\)\z|the last line\n~[\s\S]*:\z`, kind: "fullscreen", input: "h"}, step{screen: `HELP -- [^\n]*\z`, kind: "fullscreen"}),
		one(program{name: "find | less", group: "full screen", sh: `(sleep 0.2; seq 1000) | less`, needs: []string{"less"}, short: true},
			step{screen: `\A1\n2\n[\s\S]*\n:\z`, kind: "fullscreen", input: " "}, step{screen: `\n46\n:\z`, kind: "fullscreen", input: "G"}, step{screen: `\n1000\n\(END\)\z`}),
		one(program{name: "more", group: "full screen", argv: []string{"more", "f"}, files: map[string]string{"f": sixtyLines}},
			step{ends: `--More--\(\d+%\)`, input: " "}, step{ends: `--More--\(\d+%\)`}),
		one(program{name: "man", group: "full screen", argv: []string{"man", "./x.1"}, files: map[string]string{"x.1": ".TH X 1\n.SH NAME\nx \\- y\n" + strings.Repeat(".PP\na line\n", 60)}, needs: []string{"less", "groff"}, env: map[string]string{"PAGER": "less"}},
			step{screen: `Manual page x\(1\) line 1[^\n]*\z|Manual page [^\n]*\(press h for help or q to quit\)\z`, kind: "fullscreen", input: " "}, step{screen: `Manual page [^\n]* line [2-9][^\n]*\z`}),
		one(program{name: "top", group: "full screen", argv: []string{"top"}, short: true},
			step{screen: `PID USER[^\n]*\n[\s\S]*\n[^\n]*\d`, input: "h"}, step{screen: `'q' to quit or <Esc>|Press 'h' or '\?' for help|Type 'q' or <Esc> to continue`}),
		one(program{name: "htop", group: "full screen", argv: []string{"htop"}},
			step{screen: `F10Quit\z`, kind: "fullscreen", keys: []string{"F1"}}, step{screen: `\Ahtop 3[^\n]* - \(C\)`, kind: "fullscreen"}),
		one(program{name: "dialog --yesno", group: "full screen", argv: []string{"dialog", "--yesno", "Really?", "8", "40"}, short: true},
			step{screen: `Really\?[\s\S]*< *No *>`, kind: "raw", prompt: `^[^<]*< *Yes *> *< *No *>\W*$`, keys: []string{"Tab"}}, step{ends: `(?s).*No.*`, kind: "raw"}),
		one(program{name: "dialog --inputbox", group: "full screen", argv: []string{"dialog", "--inputbox", "Name?", "8", "40"}},
			step{screen: `Name\?[\s\S]*<Cancel>`, kind: "raw", input: "abc"}, step{screen: `abc[\s\S]*<Cancel>`, kind: "raw"}),
		one(program{name: "whiptail", group: "full screen", argv: []string{"whiptail", "--yesno", "Really?", "8", "40"}},
			step{screen: `Really\?[\s\S]*<No>`, keys: []string{"Tab"}}, step{ends: `(?s).+`}),
		one(program{name: "mc", group: "full screen", argv: []string{"mc", "-u", "-d"}, short: true},
			step{screen: `10Quit\z`, keys: []string{"F9"}}, step{screen: `10Quit\z`, keys: []string{"Escape"}}),
		one(program{name: "fzf", group: "full screen", sh: `seq 20 | fzf`, needs: []string{"fzf"}, short: true},
			step{screen: `\n *20/20[^\n]*\n> *\z`, input: "7"}, step{screen: `\n *2/20[^\n]*\n> 7\z`}),
		one(program{name: "tmux", group: "full screen", argv: []string{"tmux", "-L", "waiting", "-f", "/dev/null", "new", "sh"}},
			step{screen: `\A[#$]\n[\s\S]*\[0\] 0:`, listening: true, input: "echo one\r"}, step{screen: `\none\n[#$]\n`, listening: true, input: "tmux kill-server\r"}),
		one(program{name: "script", group: "full screen", argv: []string{"script", "-q", "-c", "dash -i", "/dev/null"}, needs: []string{"dash"}},
			step{ends: `[#$] `, listening: true, input: "echo one\n"}, step{ends: `one\r\n[#$] `, listening: true}),

		one(program{name: "getpass", group: "passwords", argv: []string{"python3", "-c", `import getpass
for i in range(3): getpass.getpass("PIN %d: " % i)`}, short: true},
			step{ends: `PIN 0: `, kind: "password", prompt: `^PIN 0: ?$`, input: "x\n"}, step{ends: `PIN 1: `, kind: "password", input: "x\n"}, step{ends: `PIN 2: `, kind: "password"}),
		one(program{name: "passwd", group: "passwords", argv: []string{"passwd", "nobody"}, as: "root", short: true},
			step{ends: `New password: `, kind: "password", prompt: `New password:`, input: "one of two\n"}, step{ends: `Retype new password: `, kind: "password", input: "two of two\n"}),
		one(program{name: "passwd, own", group: "passwords", argv: []string{"passwd"}, as: "user", short: true},
			step{ends: `Current password: `, kind: "password", prompt: `Current password:`, input: "wrong\n"}),
		one(program{name: "su", group: "passwords", argv: []string{"su", "root"}, as: "user", short: true},
			step{ends: `Password: `, kind: "password", prompt: `^Password: ?$`}),
		one(program{name: "su as nobody", group: "passwords", argv: []string{"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "su", "root"}, as: "root", short: true},
			step{ends: `Password: `, kind: "password", prompt: `^Password: ?$`}),
		one(program{name: "sudo", group: "passwords", argv: []string{"sudo", "-k", "true"}, as: "user"},
			step{ends: `password for [^:]*: `, kind: "password", input: "wrong\n"}, step{ends: `Sorry, try again\.\r\n[^\n]*password for [^:]*: `, kind: "password"}),
		one(program{name: "sudo as nobody", group: "passwords", argv: []string{"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "sudo", "-k", "true"}, as: "root", needs: []string{"sudo"}},
			step{ends: `password for [^:]*: `, kind: "password", input: "wrong\n"}, step{ends: `Sorry, try again\.\r\n[^\n]*password for [^:]*: `, kind: "password"}),
		one(program{name: "ssh-keygen", group: "passwords", argv: []string{"ssh-keygen", "-t", "ed25519"}},
			step{ends: `Enter file in which to save the key \([^)]*\): `, kind: "line", input: "key\n"},
			step{ends: `Enter passphrase \(empty for no passphrase\): `, kind: "password", input: "abcdef\n"}, step{ends: `Enter same passphrase again: `, kind: "password", input: "abcdeg\n"},
			step{ends: `Enter passphrase \(empty for no passphrase\): `, kind: "password"}),
		one(program{name: "openssl", group: "passwords", argv: []string{"openssl", "genrsa", "-aes128", "-out", "key", "2048"}},
			step{ends: `Enter PEM pass phrase:`, kind: "password", input: "abcdef\n"}, step{ends: `Verifying - Enter PEM pass phrase:`, kind: "password"}),
		one(program{name: "gpg --symmetric", group: "passwords", argv: []string{"gpg", "--homedir", ".", "--pinentry-mode", "loopback", "--symmetric", "f"}, files: map[string]string{"f": "x"}, setup: "chmod 700 ."},
			step{ends: `Enter passphrase: `, kind: "raw|password"}),
		one(program{name: "installer with a password", group: "passwords", sh: `printf 'Install? [Y/n] '; read a; sleep 0.2; stty -echo; printf 'Password: '; read p; stty echo; echo; printf 'Where? [/opt] '; read w`, short: true},
			step{ends: `Install\? \[Y/n\] `, kind: "line", prompt: `^Install\? \[Y/n\] ?$`, input: "y\n"},
			step{ends: `Password: `, kind: "password", prompt: `^Password: ?$`, input: "secret\n"}, step{ends: `Where\? \[/opt\] `, kind: "line"}),

		one(program{name: "git add -p", group: "questions", argv: []string{"git", "add", "-p"}, setup: repo, short: true},
			step{ends: `Stage this hunk \[[^]]*\]\? `, kind: "line", prompt: `Stage this hunk`, input: "s\n"}, step{ends: `Stage this hunk \[[^]]*\]\? `, kind: "line", input: "n\n"}, step{ends: `Stage this hunk \[[^]]*\]\? `, kind: "line"}),
		one(program{name: "git commit", group: "questions", argv: []string{"git", "commit", "-a"}, setup: repo, needs: []string{"vim"}, env: map[string]string{"GIT_EDITOR": "vim -u NONE -i NONE -N"}, short: true},
			step{screen: `COMMIT_EDITMSG" \d+L, \d+B[^\n]*\z`, kind: "fullscreen", input: "i"}, step{screen: `-- INSERT --\z`, kind: "fullscreen"}),
		one(program{name: "git clean -i", group: "questions", argv: []string{"git", "clean", "-i"}, setup: repo + ` && touch new`},
			step{ends: `What now> `, kind: "line", input: "4\n"}, step{ends: `Remove new \[y/N\]\? `, kind: "line"}),
		one(program{name: "npm init, looks for a new npm", group: "questions", argv: []string{"npm", "init"}},
			step{ends: `package name: \([^)]*\) `, listening: true, input: "x\n"}, step{ends: `version: \([^)]*\) `, listening: true, input: "\n"}, step{ends: `description: `, listening: true}),
		one(program{name: "npm init", group: "questions", argv: []string{"npm", "init"}, env: map[string]string{"npm_config_update_notifier": "false"}, short: true},
			step{ends: `package name: \([^)]*\) `, input: "x\n"}, step{ends: `version: \([^)]*\) `, input: "\n"}, step{ends: `description: `}),
		one(program{name: "apt-get remove", group: "questions", argv: []string{"apt-get", "-o", "Debug::NoLocking=1", "remove", "nano"}, needs: []string{"nano"}, as: "root", short: true},
			step{ends: `Do you want to continue\? \[Y/n\] `, kind: "line", prompt: `continue\?`, input: "n\n"}),
		one(program{name: "rm -i", group: "questions", argv: []string{"rm", "-i", "a", "b"}, files: map[string]string{"a": "x", "b": "x"}, short: true},
			step{ends: `remove regular file 'a'\? `, kind: "line", prompt: `remove regular file 'a'\?`, input: "n\n"}, step{ends: `remove regular file 'b'\? `, kind: "line"}),
		one(program{name: "cp -i", group: "questions", argv: []string{"cp", "-i", "a", "b"}, files: map[string]string{"a": "x", "b": "x"}, short: true},
			step{ends: `overwrite 'b'\? `, kind: "line", prompt: `overwrite 'b'\?`}),
		one(program{name: "mv -i", group: "questions", argv: []string{"mv", "-i", "a", "b"}, files: map[string]string{"a": "x", "b": "x"}, short: true},
			step{ends: `overwrite 'b'\? `, kind: "line", prompt: `overwrite 'b'\?`}),
		one(program{name: "find -ok", group: "questions", argv: []string{"find", ".", "-name", "a", "-ok", "rm", "{}", ";"}, files: map[string]string{"a": "x"}, short: true},
			step{ends: `\./a > \? `, kind: "line"}),
		one(program{name: "xargs -p", group: "questions", sh: `printf 'a\nb\n' | xargs -n1 -p echo`, short: true},
			step{ends: `echo a ?\?\.\.\.`, kind: "line", input: "y\n"}, step{ends: `echo b ?\?\.\.\.`, kind: "line"}),
		one(program{name: "gzip", group: "questions", argv: []string{"gzip", "f"}, files: map[string]string{"f": "x", "f.gz": "x"}, short: true},
			step{ends: `do you wish to overwrite \(y or n\)\? `, kind: "line"}),
		one(program{name: "tar -w", group: "questions", argv: []string{"tar", "-cwf", "x.tar", "f"}, files: map[string]string{"f": "x"}, short: true},
			step{ends: `add .f.\?`, kind: "line"}),
		one(program{name: "sh read y/n", group: "questions", sh: `while printf 'Proceed? [y/N] '; do read a; sleep 0.1; done`, short: true},
			step{ends: `Proceed\? \[y/N\] `, kind: "line", prompt: `^Proceed\? \[y/N\] ?$`, input: "n\n"}, step{ends: `Proceed\? \[y/N\] `, kind: "line", input: "n\n"}, step{ends: `Proceed\? \[y/N\] `, kind: "line"}),
		one(program{name: "read of /dev/tty", group: "questions", sh: `echo x | (printf 'tty? '; read a </dev/tty; echo got $a; sleep 300)`, short: true},
			step{ends: `tty\? `, kind: "line", prompt: `^tty\? ?$`}),
		one(program{name: "python input", group: "questions", argv: []string{"python3", "-c", `while True: input("more? ")`}, short: true},
			step{ends: `more\? `, kind: "line", prompt: `^more\? ?$`, input: "n\n"}, step{ends: `more\? `, kind: "line"}),

		one(program{name: "cat", group: "filters", sh: `echo ready; exec cat`, short: true},
			step{ends: `ready\r\n`, kind: "line", input: "a\n"}, step{ends: `a\r\na\r\n`, kind: "line", input: "b\n"}, step{ends: `b\r\nb\r\n`, kind: "line"}),
		one(program{name: "cat | grep", group: "filters", sh: `echo ready; cat | grep --line-buffered a`, short: true},
			step{ends: `ready\r\n`, kind: "line", input: "a\n"}, step{ends: `a\r\na\r\n`, kind: "line", input: "b\n"}, step{ends: `b\r\n`, kind: "line"}),
		one(program{name: "tr", group: "filters", sh: `echo ready; exec tr a-z A-Z`, short: true},
			step{ends: `ready\r\n`, kind: "line", input: "a\n"}, step{ends: `a\r\nA\r\n`, kind: "line"}),
		one(program{name: "setsid cat", group: "filters", sh: `echo ready; setsid -w cat`, needs: []string{"setsid"}, short: true},
			step{ends: `ready\r\n`, kind: "line", input: "a\n"}, step{ends: `a\r\na\r\n`, kind: "line"}),
		one(program{name: "cat after STOP, CONT", group: "filters", sh: `echo ready; exec cat`, short: true},
			step{ends: `ready\r\n`, kind: "line", also: "STOP CONT"}, step{ends: ``, kind: "line", input: "a\n"}, step{ends: `a\r\na\r\n`, kind: "line"}),
		one(program{name: "wc", group: "filters", sh: `echo ready; exec wc`, short: true},
			step{ends: `ready\r\n`, kind: "line", input: "a\n"}, step{ends: `a\r\n`, kind: "line"}),
		one(program{name: "sort", group: "filters", sh: `echo ready; exec sort`, short: true},
			step{ends: `ready\r\n`, kind: "line", input: "b\na\n"}, step{ends: `b\r\na\r\n`, kind: "line"}),
		one(program{name: "awk", group: "filters", sh: `echo ready; exec awk '{ print "<" $1 ">"; fflush() }'`, short: true},
			step{ends: `ready\r\n`, kind: "line", input: "a\n"}, step{ends: `<a>\r\n`, kind: "line"}),
		one(program{name: "sed", group: "filters", sh: `echo ready; exec sed -u s/a/b/`, short: true},
			step{ends: `ready\r\n`, kind: "line", input: "a\n"}, step{ends: `b\r\n`, kind: "line"}),

		one(program{name: "cat on a pipe", group: "pipes", sh: `echo ready; exec cat`, pipe: true, short: true},
			step{ends: `ready\n`, input: "a\n"}, step{ends: `a\n`, input: "b\n"}, step{ends: `b\n`}),
		one(program{name: "python on a pipe", group: "pipes", argv: []string{"python3", "-c", `while True: print("got", input("more? "), flush=True)`}, pipe: true, short: true},
			step{ends: `more\? `, input: "n\n"}, step{ends: `got n\nmore\? `}),
		one(program{name: "node on a pipe", group: "pipes", argv: []string{"node", "-e", `console.log('ready'); process.stdin.on('data', d => setTimeout(() => console.log('got ' + d), 100))`}, pipe: true},
			step{ends: `ready\n`, input: "n\n"}, step{ends: `got n\n\n`}),
		one(program{name: "sh read on a pipe", group: "pipes", sh: `while echo more; do read a; sleep 0.1; echo $a; done`, pipe: true, short: true},
			step{ends: `more\n`, input: "n\n"}, step{ends: `n\nmore\n`}),
	}
	return all
}

const endless = `#include <stdio.h>
int main(void) { return 0; }
`

func busyPrograms() []busy {
	helper := func(mode string, listening bool) busy {
		return busy{program: program{name: mode, group: "made for it", argv: []string{"shelld-waits", mode}, short: true}, listening: listening}
	}
	sh := func(name, line string, short bool, needs ...string) busy {
		return busy{program: program{name: name, group: "real", sh: line, needs: needs, short: short}}
	}
	// A build is repeated, so that it runs as long as it is observed.
	again := func(line string) string { return `while ` + line + `; do :; done` }
	return []busy{
		sh("sleep", `exec sleep 300`, true),
		sh("sleep after sh", `sleep 300; echo`, true),
		sh("find /", again(`find / -xdev -name none 2>/dev/null`), false),
		sh("grep -r", again(`grep -rs nothingsuch /usr/share/doc || true`), false),
		{program: program{name: "http server of node", group: "real", argv: []string{"node", "-e", `require('http').createServer(() => {}).listen(0, '127.0.0.1', () => console.log('listening'))`}, short: true}},
		{program: program{name: "http.server of python", group: "real", argv: []string{"python3", "-m", "http.server", "--bind", "127.0.0.1", "0"}, short: true}},
		{program: program{name: "tail -f", group: "real", argv: []string{"tail", "-f", "f"}, files: map[string]string{"f": "a\nb\n"}, short: true}},
		{program: program{name: "watch", group: "real", argv: []string{"watch", "-n", "1", "date"}}},
		sh("dd", `exec dd if=/dev/zero of=/dev/null`, true),
		sh("yes | head", `yes | head -c 100G >/dev/null`, true),
		sh("yes on the terminal", `exec yes`, true),
		{program: program{name: "go build", group: "real", sh: again(`GOFLAGS= GOCACHE=$PWD/cache$((n=n+1)) HOME=$PWD go build -o x x.go`), files: map[string]string{"x.go": "package main\nimport \"fmt\"\nfunc main() { fmt.Println() }\n"}, needs: []string{"go"}}},
		{program: program{name: "gcc", group: "real", sh: again(`gcc -O2 -o x x.c`), files: map[string]string{"x.c": endless}, needs: []string{"gcc"}, short: true}},
		{program: program{name: "make -j2", group: "real", sh: again(`make -B -j2 a b c d`), files: map[string]string{"Makefile": "a b c d: x.c\n\tgcc -O2 -o $@ x.c\n\tsleep 0.1\n", "x.c": endless}, needs: []string{"gcc", "make"}}},
		{program: program{name: "node timer", group: "real", argv: []string{"node", "-e", `setInterval(() => process.stdout.write('.'), 100)`}, short: true}},
		{program: program{name: "node long timer", group: "real", argv: []string{"node", "-e", `console.log('wait'); setTimeout(() => 0, 300000)`}}},
		{program: program{name: "python sleep", group: "real", argv: []string{"python3", "-c", `import time; print("name? ", end="", flush=True); time.sleep(300)`}, short: true}},
		{program: program{name: "python sum", group: "real", argv: []string{"python3", "-c", `print(sum(range(10**11)))`}, short: true}},
		{program: program{name: "python threads", group: "real", argv: []string{"python3", "-c", "import threading, time\nfor i in range(3): threading.Thread(target=time.sleep, args=(300,)).start()"}}},
		sh("nc -l", `exec nc -l 127.0.0.1 0 </dev/null`, false, "nc"),
		sh("npm version", again(`npm version >/dev/null`), false, "npm"),
		{program: program{name: "git clone", group: "real", sh: again(`git clone -q . x && rm -rf x`), setup: repo, needs: []string{"git"}, short: true}},
		sh("cat of a fifo", `mkfifo p; echo 'Name: '; exec cat p`, true),
		sh("cat of an open fifo", `mkfifo p; exec 3<>p; echo 'Name: '; exec cat <&3`, true),
		sh("bash loop", `exec bash -c 'while :; do :; done'`, true, "bash"),
		sh("wait of a shell", `sleep 300 & wait`, true),
		sh("fake y/N", `printf 'Continue? [y/N] '; exec sleep 300`, true),
		sh("fake password", `stty -echo; printf 'Password: '; exec sleep 300`, true),
		sh("fake prompt, raw", `stty raw -echo; printf '$ '; exec sleep 300`, true),
		{program: program{name: "prompt 1 s before its read", group: "real", sh: `printf 'Name: '; sleep 1; echo now; read a`, short: true}, until: `now\r\n`},
		sh("progress bar", `while :; do printf '\r 50%% of it? '; sleep 0.05; done`, true),
		sh("sleep | cat", `sleep 300 | cat`, true),
		sh("reader in the background", `exec bash -mc "cat & sleep 300"`, true, "bash"),
		sh("timeout", `exec timeout 300 sleep 300`, true),
		sh("strace", `exec strace -o /dev/null sleep 300`, false, "strace"),
		sh("perl sleep", `exec perl -e 'sleep 300'`, true, "perl"),
		sh("stopped cat", `kill -STOP $$; exec cat`, true),
		{program: program{name: "pipe, nothing read", group: "real", sh: `exec sleep 300`, pipe: true, short: true}},
		{program: program{name: "pipe, works", group: "real", argv: []string{"python3", "-c", `print("more? ", flush=True); print(sum(range(10**11)))`}, pipe: true, short: true}},
		{program: program{name: "pipe, child sleeps", group: "real", sh: `sleep 300; cat`, pipe: true, short: true}},
		helper("progress, poll 0", false),
		helper("poll without POLLIN", false),
		helper("output of select", false),
		helper("reads a pipe", false),
		helper("input unread", false),
		helper("works, thread reads", true),
		helper("sleeps, thread reads", true),
		helper("terminal and socket", true),
		helper("server with keys", true),
		helper("key poll, 50 ms", true),
		{program: program{name: "node server with keys", group: "real", argv: []string{"node", "-e", `process.stdin.setRawMode(true); process.stdin.resume(); require('http').createServer(() => {}).listen(0, '127.0.0.1', () => console.log('press h for help'))`}, short: true}, listening: true},
	}
}
