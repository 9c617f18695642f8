package main

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// execRows is the minimum number of commands in the table for each shell.
const execRows = 120

// TestExecTableAlone checks the table against plain shells with typed input: the result of job/exec must be the result
// of the plain shell, except for known differences (aparts). It tests the shells and the table, and no code of ours, so
// without -long one shell is enough.
func TestExecTableAlone(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("no server has a part in it")
	}
	for _, shell := range execShells[:scaled(len(execShells), 1, 1)] {
		t.Run(shell, func(t *testing.T) {
			base, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			p := startPlain(t, base, shell, nastyFiles)
			cwd, same, different := p.home, 0, 0
			for _, n := range nasties() {
				if n.not[shell] != "" {
					continue
				}
				if n.cwd != "" {
					cwd = strings.ReplaceAll(n.cwd, "HOME", p.home)
				}
				a, known := apartOf(n, shell)
				if slices.Contains(a.skip, shell) {
					t.Logf("not typed: %s: %s", n.name, a.why)
					continue
				}
				got := p.row(n)
				_, w := n.of(shell)
				wrong := w.at(p.home).wrong(got, cwd)
				switch {
				case !known && wrong != "":
					t.Errorf("%s: %s\n%v", n.name, wrong, got)
				case !known:
					same++
				case wrong == "":
					t.Errorf("%s is no longer different: take it out of aparts", n.name)
				default:
					if wrong := a.alone[shell].at(p.home).wrong(got, cwd); wrong != "" {
						t.Errorf("%s is different, but not as it was: %s\n%v", n.name, wrong, got)
					}
					t.Logf("different: %s: %s", n.name, a.why)
					different++
				}
				cwd = got.cwd
			}
			t.Logf("%d commands as in the plain shell, %d different", same, different)
		})
	}
}

// row runs a row of the table.
func (p *plainShell) row(n nasty) executed {
	p.t.Helper()
	command, _ := n.of(p.name)
	command = strings.ReplaceAll(command, "HOME", p.home)
	if slices.Contains(n.whole, p.name) {
		return p.whole(command)
	}
	return p.run(command)
}

// apartOf returns the known difference of a row in one shell.
func apartOf(n nasty, shell string) (a apart, known bool) {
	for _, a := range aparts {
		if _, ok := a.alone[shell]; a.row == n.name && (ok || slices.Contains(a.skip, shell)) {
			return a, true
		}
	}
	return apart{}, false
}

// TestExecTableRows checks that the table is long enough, that each inexact row has a reason, and that the known
// differences refer to existing rows.
func TestExecTableRows(t *testing.T) {
	rows := map[string]int{}
	for _, shell := range execShells {
		count := 0
		for _, n := range nasties() {
			rows[shell+" "+n.name]++
			if n.not[shell] != "" {
				continue
			}
			count++
			if _, w := n.of(shell); !w.plausible() {
				t.Errorf("%s: %s: what is not exact says why, and what is exact does not: %q, %q", shell, n.name, w.like, w.vary)
			}
		}
		if count < execRows {
			t.Errorf("%s has %d commands, not %d", shell, count, execRows)
		}
	}
	for i, a := range aparts {
		if a.why == "" || slices.ContainsFunc(aparts[:i], func(b apart) bool { return a.row == b.row }) {
			t.Errorf("%s stands there twice, or without a reason", a.row)
		}
		shells := slices.Clone(a.skip)
		for shell, w := range a.alone {
			shells = append(shells, shell)
			if !w.plausible() {
				t.Errorf("%s: %s: what is not exact says why, and what is exact does not: %q, %q", shell, a.row, w.like, w.vary)
			}
		}
		for _, shell := range shells {
			if rows[shell+" "+a.row] != 1 {
				t.Errorf("%s: there are %d rows with the name %q", shell, rows[shell+" "+a.row], a.row)
			}
		}
	}
}

// plausible reports whether an expression has a reason, and does not match everything.
func (w want) plausible() bool {
	if w.like == "" {
		return w.vary == ""
	}
	return w.vary != "" && w.out == "" && !regexp.MustCompile(`(?s)^(?:`+w.like+`)$`).MatchString("anything at all\n")
}
