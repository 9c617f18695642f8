package roots

import (
	"slices"
	"strings"
	"sync"
)

// values describes the variables that a line uses in expressions, and the values that it assigns.
type values struct {
	numbers map[string]bool // set to a number
	others  map[string]bool // perhaps set to something else
	used    []string        // used in expressions
	arrays  bool            // one of them may be an array
	reread  []string        // declared with a value that may be the text of an array
	locale  bool            // a locale is set, perhaps one with other characters than UTF-8
}

func newValues() values {
	return values{numbers: map[string]bool{}, others: map[string]bool{}}
}

func (v *values) given(name string) { v.others[name] = true }

// suspect returns which value could run a command when it is evaluated, or "".
func (v *values) suspect() string {
	for _, name := range v.used {
		if v.others[name] || !v.numbers[name] || slices.Contains(told(), name) {
			return "the line evaluates " + name + " as arithmetic, which can run a command"
		}
	}
	for _, name := range v.reread {
		if v.arrays || slices.Contains(told(), name) || isInteger(name) {
			return "the declared value of " + name + " may be expanded again, if it is an array"
		}
	}
	return ""
}

// declare notes a declaration with a value that is one word, or of which only the start is known. If the name is an
// array, or becomes one, bash parses the elements in such a value as if they were in the line: declare -a 'x=($(rm))'.
func (v *values) declare(name, value string, known, array bool) string {
	switch {
	case value != "" && !strings.HasPrefix(value, "("), known && value == "":
	case known, array:
		return "the declared value of " + name + " is expanded again"
	default:
		v.reread = append(v.reread, name)
	}
	return ""
}

// counters are variables that the shell sets to numbers.
var counters = []string{"?", "#", "$", "!", "RANDOM", "SRANDOM", "SECONDS", "LINENO", "BASHPID", "PPID", "UID", "EUID"}

// told are variables that the shell sets to a text, regardless of assignments in the line: the last argument, the match
// of a pattern, the command itself.
var told = sync.OnceValue(func() []string {
	return strings.Fields(`_ PWD OLDPWD DIRSTACK dirstack REPLY OPTARG MAPFILE FUNCNAME
	BASH_REMATCH BASH_COMMAND BASH_EXECUTION_STRING BASH_ARGV BASH_ARGV0 BASH_SOURCE COMPREPLY COMP_LINE COMP_WORDS
	COMP_WORDBREAKS READLINE_LINE BASH BASH_VERSION BASH_VERSINFO
	argv ARGV0 ZSH_ARGZERO ZSH_EVAL_CONTEXT ZSH_EXECUTION_STRING ZSH_NAME MATCH match mbegin mend reply psvar jobtexts
	history historywords funcstack funcfiletrace funcsourcetrace functrace prebuffer BUFFER
	KSH_VERSION KSH_MATCH EXECSHELL HISTCMD HOST HOSTNAME`)
})

// use notes that an expression uses a variable.
func (v *values) use(name string) {
	if !slices.Contains(counters, name) && !slices.Contains(v.used, name) {
		v.used = append(v.used, name)
	}
}

// assign notes an assignment. It returns why that changes which commands run, or "".
func (v *values) assign(name string, number bool) string {
	v.locale = v.locale || slices.Contains(localeNames, name)
	switch {
	case Steers(name):
		return "the line sets " + name + ", which changes which commands run"
	case !number && isInteger(name):
		return "the line sets " + name + ", whose value the shell evaluates as arithmetic, which can run a command"
	case number:
		v.numbers[name] = true
	default:
		v.others[name] = true
	}
	return ""
}

// integers are variables for which some shell evaluates the assigned value.
var integers = sync.OnceValue(func() []string {
	return strings.Fields(`OPTIND HISTCMD COLUMNS LINES EPOCHSECONDS BASH_MONOSECONDS PIPESTATUS PGRP KSHUID KSHGID KSHEGID USER_ID
	SHLVL TMOUT SAVEHIST HISTSIZE KEYTIMEOUT LISTMAX MAILCHECK EGID GID TTYIDLE TRY_BLOCK_ERROR TRY_BLOCK_INTERRUPT ZSH_SUBSHELL
	ARGC status ERRNO ZLE_RPROMPT_INDENT FUNCNEST REPORTTIME REPORTMEMORY DIRSTACKSIZE PERIOD LOGCHECK BAUD UNDO_LIMIT_NO UNDO_CHANGE_NO
	CURSOR MARK HISTNO REGION_ACTIVE YANK_ACTIVE MENUSELECT ZFTP_TMOUT BASH_SUBSHELL COMP_CWORD COMP_POINT COMP_TYPE COMP_KEY EPOCHREALTIME pipestatus`)
})

func isInteger(name string) bool { return slices.Contains(integers(), name) }
