// Package roots finds the commands that a command line runs, without running it
// (protocol section 8, "command roots").
//
// A root is the word by which a shell finds a program, a builtin or a function,
// with its quotes taken off: git in "git log | less" is one, and less another.
// What runs another command (env, sudo, xargs, sh -c, find -exec and the like) is a
// root, and so is what it runs. Programs that have a language of their own, as
// python or awk, are roots and nothing more: what a script of theirs does is not
// looked at, and neither is what git or make have been set up to run.
//
// [Line.Roots] errs on one side only. It may name a command that is never reached
// (a branch not taken, a function never called), but one that could run is either
// named or makes [Found.Why] say that not all is known. So a list of what is allowed
// is never passed by what could not be read.
//
// # The life of a line
//
//	Line.Roots     bounds, characters that shells and the parser take differently
//	  read         once for each dialect that the shell may speak; what the readings
//	               do not agree upon is not known
//	    visit      every node of the tree: substitutions, bodies, here-documents
//	      call     a simple command: assignments, its word, then
//	        command  builtins that run text, wrappers that run words
//	  arithmetic   at the end: names that are computed with, and what is in them
//
// # Why arithmetic matters
//
// Shells evaluate the values of variables as expressions, and an expression can
// hold a substitution: x='a[$(rm f)]'; echo $((x)) runs rm. So a name that is computed
// with must have been given a number in the same line.
//
// # How it is tested
//
// TestDifferential generates lines that shells and parsers read differently, and runs those of which
// all roots are claimed to be known in the real shells. With -fuzz it goes on for as long as it is told to:
//
//	go test ./jobs/internal/roots -run TestDifferential -timeout 0 -parallel 7 -args -fuzz 1h
//
// There is no goroutine here, nothing is kept, and no file is looked at: what a
// name leads to on PATH, by a link or by the user's own aliases is not known here.
package roots
