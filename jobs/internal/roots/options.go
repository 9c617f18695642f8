package roots

import "strings"

// options describes how a program parses the words before the command that it runs.
type options struct {
	flags    string // letters without a value
	values   string // letters with a value, attached or in the next word
	attached string // letters with an optional, attached value
	long     string // names; with = they have a value, with ? only an attached one
	digits   bool   // -10 is an option
	operands int    // words between the options and the command
	assigns  bool   // NAME=value may come before the command
}

// A given is an option in a command. Its name has no dashes.
type given struct {
	name  string
	value word
}

type givens []given

func (g givens) has(name string) bool {
	for _, o := range g {
		if o.name == name {
			return true
		}
	}
	return false
}

// options splits off the options from words, for a program that stops at the first word that is not an option. An
// option that is not in the table may have a value or run something: it is noted, and treated as a flag.
func (r *reader) options(name string, args []word, o *options) (got givens, rest []word) {
	for len(args) > 0 {
		w := args[0]
		switch {
		case w.number && !w.known: // $! and similar
			return got, args
		case !w.known && !w.many && w.text != "" && w.text[0] != '-':
			return got, args // it is not an option, whatever its end
		case !w.known:
			r.note("the arguments of " + name + " are known only when the line runs")
			if !strings.HasPrefix(w.text, "-") {
				return got, args
			}
			args = args[1:]
		case w.text == "--":
			return got, args[1:]
		case strings.HasPrefix(w.text, "--"):
			args = r.longOption(name, args, o, &got)
		case len(w.text) > 1 && w.text[0] == '-':
			args = r.letters(name, args, o, &got)
		default:
			return got, args
		}
	}
	return got, nil
}

func (r *reader) longOption(name string, args []word, o *options, got *givens) []word {
	option, value, attached := strings.Cut(args[0].text[2:], "=")
	args = args[1:]
	kind, known := o.longKind(option)
	v := word{text: value, known: true}
	switch {
	case !known:
		r.note("the option --" + option + " of " + name + " is not known here")
	case kind == '=' && !attached:
		v, args = r.nextWord(name, args)
	}
	*got = append(*got, given{option, v})
	return args
}

// longKind returns the kind of a long option: '=', '?' or 0.
func (o *options) longKind(option string) (kind byte, known bool) {
	for _, entry := range strings.Fields(o.long) {
		bare := strings.TrimRight(entry, "=?")
		if bare == option {
			if bare != entry {
				kind = entry[len(entry)-1]
			}
			return kind, true
		}
	}
	return 0, false
}

func (r *reader) letters(name string, args []word, o *options, got *givens) []word {
	cluster := args[0].text[1:]
	args = args[1:]
	if o.digits && strings.Trim(cluster, "-+0123456789") == "" {
		return args
	}
	for i := 0; i < len(cluster); i++ {
		letter, after := cluster[i:i+1], cluster[i+1:]
		v := word{known: true}
		switch {
		case strings.Contains(o.values, letter):
			if v.text = after; after == "" {
				v, args = r.nextWord(name, args)
			}
			i = len(cluster)
		case strings.Contains(o.attached, letter):
			v.text, i = after, len(cluster)
		case !strings.Contains(o.flags, letter):
			r.note("the option -" + letter + " of " + name + " is not known here")
		}
		*got = append(*got, given{letter, v})
	}
	return args
}

// nextWord returns the value of an option. An unquoted expansion may be several words, or none.
func (r *reader) nextWord(name string, args []word) (word, []word) {
	if len(args) == 0 {
		return word{known: true}, nil
	}
	if args[0].many {
		r.note("the arguments of " + name + " are known only when the line runs")
	}
	return args[0], args[1:]
}
