package main

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

var (
	execSequences = flag.Int("execs", 0, "random sequences of TestExecRandom, of all shells together, if not 30, or 90 with -long; docs/exec.md has the figure for 1000")
	execSeed      = flag.Uint64("execs.seed", 1, "the seed of the first of them, which a failure tells")
)

// TestExecRandom runs random sequences of commands in a shell of the server, and as a script in a plain shell. The
// output, the status and the directory of each command must be the same.
func TestExecRandom(t *testing.T) {
	t.Parallel()
	sequences := *execSequences
	if sequences == 0 {
		sequences = scaled(90, 30, 15)
	}
	for i, shell := range execShells {
		t.Run(shell, func(t *testing.T) {
			s := startExecs(t)
			commands := 0
			for n := i; n < sequences; n += len(execShells) {
				commands += compareExecs(s, shell, *execSeed+uint64(n))
				if t.Failed() {
					break
				}
			}
			t.Logf("%d commands", commands)
			s.end()
		})
	}
}

// compareExecs runs one sequence in both ways.
func compareExecs(s *execServer, shell string, seed uint64) int {
	s.t.Helper()
	tree := filepath.Join(s.base, "tree")
	g := &execGenerator{Rand: rand.New(rand.NewPCG(seed, 0)), shell: shell, file: "'" + tree + "/file'"}
	steps := make([]string, 5+g.IntN(16))
	for i := range steps {
		steps[i] = g.step()
	}
	argv := map[string][]string{"bash": {"bash", "--norc"}, "zsh": {"zsh", "-f"}, "fish": {"fish", "--no-config"}}[shell]
	x := s.shell(shell, nil, argv...)
	want := execAlone(x, argv, tree, steps)
	execTree(s, tree)
	x.run("cd '" + tree + "'")
	for i, step := range steps {
		if got := x.run(step); got.raw != want[i].raw || got.exit != want[i].exit || got.cwd != want[i].cwd || !controlled(got.raw) && got.output != got.raw {
			s.t.Errorf("%s, -execs.seed %d, step %d:\n%s\ngave %v\nand alone %v", shell, seed, i+1, strings.Join(steps[:i+1], "\n----\n"), got, want[i])
			break
		}
	}
	x.leave()
	return len(steps)
}

// execTree recreates the small directory tree in which a sequence runs.
func execTree(s *execServer, tree string) {
	s.t.Helper()
	if err := os.RemoveAll(tree); err != nil {
		s.t.Fatal(err)
	}
	for _, dir := range []string{"a/b/c", "a/b 2/ü", "d"} {
		if err := os.MkdirAll(filepath.Join(tree, dir), 0o755); err != nil {
			s.t.Fatal(err)
		}
	}
}

// execAlone runs the steps as a script, which prints the result of each step after it.
func execAlone(s *execShell, argv []string, tree string, steps []string) (all []executed) {
	s.t.Helper()
	execTree(s.execServer, tree)
	const mark = "\x1e"
	var script strings.Builder
	if s.name == "fish" {
		fmt.Fprintf(&script, "function __mark; set -l s $status; printf '\\x1e%%s;%%s\\x1e' $s \"$PWD\"; return $s; end\ncd '%s'; __mark\n", tree)
	} else {
		fmt.Fprintf(&script, "__mark() { { set -- $?; builtin printf '\\036%%s;%%s\\036' \"$1\" \"$PWD\"; return $1; } 2>/dev/null; }\ncd '%s'; __mark\n", tree)
	}
	for _, step := range steps {
		script.WriteString(step + "\n__mark\n")
	}
	path := filepath.Join(s.base, "script")
	if err := os.WriteFile(path, []byte(script.String()), 0o600); err != nil {
		s.t.Fatal(err)
	}
	cmd := exec.Command(argv[0], append(argv[1:], path)...)
	cmd.Dir, cmd.Env = s.home, append(os.Environ(), "HOME="+s.home, "XDG_RUNTIME_DIR="+s.home, "LC_ALL=C.UTF-8")
	out, err := cmd.CombinedOutput()
	fields := strings.Split(string(out), mark)
	if len(fields) != 2*len(steps)+3 {
		s.t.Fatalf("%s has come to its end early (%v):\n%s\n----\n%q", s.name, err, script.String(), out)
	}
	for i := range steps {
		status, cwd, _ := strings.Cut(fields[2*i+3], ";")
		exit, err := strconv.ParseInt(status, 10, 64)
		if err != nil {
			s.t.Fatal(err)
		}
		all = append(all, executed{raw: fields[2*i+2], exit: exit, cwd: cwd})
	}
	return all
}
