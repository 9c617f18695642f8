// Package roots finds the commands that a command line runs, without running it (protocol section 8, "command roots").
//
// A root is the word by which a shell finds a program, a builtin or a function, without quotes: "git log | less" has
// the roots git and less. A command that runs another one (env, sudo, xargs, sh -c, find -exec and the like) is a root,
// and so is the command that it runs. Programs that interpret a language of their own, such as python or awk, are only
// roots: neither their scripts are examined, nor the commands that git or make are configured to run.
//
// [Line.Roots] errs on one side only. It may name a command that is never reached (a branch not taken, a function never
// called), but any command that could run is either named, or [Found.Why] says that not all is known. So unreadable
// commands never pass an allow list.
//
// # Steps
//
//	Line.Roots     limits, characters that shells and the parser treat differently
//	  read         once for each dialect that the shell may speak; if the results
//	               differ, the roots are not known
//	    visit      every node of the tree: substitutions, bodies, here-documents
//	      call     a simple command: assignments, its word, then
//	        command  builtins that run text, wrappers that run words
//	  arithmetic   at the end: variables used in expressions, and their values
//
// # Why arithmetic matters
//
// Shells evaluate the values of variables as expressions, and an expression can contain a substitution: x='a[$(rm f)]';
// echo $((x)) runs rm. So a variable in an expression must have been set to a number in the same line.
//
// # Tests
//
// TestDifferential generates lines that shells and parsers read differently. If all roots of a line are claimed to be
// known, it runs the line in the real shells. With -fuzz it goes on for the given time:
//
//	go test ./jobs/internal/roots -run TestDifferential -timeout 0 -parallel 7 -args -fuzz 1h
//
// The package starts no goroutine, keeps no state, and accesses no file: it does not know the program to which a name
// leads on PATH, through a link or through the user's aliases.
package roots
