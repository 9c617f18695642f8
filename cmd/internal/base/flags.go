package base

import (
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"shelld.dev/shelld/schema"
)

// This file replaces the parser of package flag, which prints the whole help with each error, writes its errors for
// programmers, and suggests nothing. The flags themselves are declared with package flag.

// Parse sets the flags of fs, and returns the arguments that are not flags. Flags end at "--" and, unless mixed is set,
// at the first other argument. The error is [flag.ErrHelp] if help is requested; any other error is one line of text.
func Parse(fs *flag.FlagSet, args []string, mixed bool) (rest []string, err error) {
	for len(args) > 0 {
		arg := args[0]
		switch {
		case arg == "--":
			return append(rest, args[1:]...), nil
		case len(arg) >= 2 && arg[0] == '-':
			if args, err = parseFlag(fs, args); err != nil {
				return nil, err
			}
		case mixed:
			rest, args = append(rest, arg), args[1:]
		default:
			return args, nil
		}
	}
	return rest, nil
}

// parseFlag sets the first flag in args, and returns the arguments after it.
func parseFlag(fs *flag.FlagSet, args []string) ([]string, error) {
	text, rest := args[0], args[1:]
	name, value, hasValue := strings.Cut(strings.TrimPrefix(text[1:], "-"), "=")
	f := fs.Lookup(name)
	switch {
	case f == nil && (name == "h" || name == "help"):
		return nil, flag.ErrHelp
	case f == nil:
		return nil, noSuchFlag(fs, strings.TrimSuffix(text, "="+value), name)
	case !hasValue && isSwitch(f):
		value = "true"
	case !hasValue && len(rest) == 0:
		what, _ := flag.UnquoteUsage(f)
		return nil, fmt.Errorf("-%s needs a value: -%[1]s %s", name, strings.ToUpper(what))
	case !hasValue:
		value, rest = rest[0], rest[1:]
	}
	if err := fs.Set(name, value); err != nil {
		return nil, badValue(f, value, err)
	}
	return rest, nil
}

// isSwitch reports whether a flag needs no value.
func isSwitch(f *flag.Flag) bool {
	b, ok := f.Value.(interface{ IsBoolFlag() bool })
	return ok && b.IsBoolFlag()
}

func noSuchFlag(fs *flag.FlagSet, text, name string) error {
	var names []string
	fs.VisitAll(func(f *flag.Flag) { names = append(names, f.Name) })
	return noFlagError{name, "there is no flag " + Visible(text, ""), didYouMean("-", name, names)}
}

// A noFlagError reports a flag that the command does not have.
type noFlagError struct{ name, text, meant string }

func (e noFlagError) Error() string { return e.text + e.meant }

// didYouMean returns a question to append to an error about a wrong name, or "".
func didYouMean(before, name string, names []string) string {
	if near := schema.Nearest(name, names); near != "" {
		return "; did you mean " + before + near + "?"
	}
	return ""
}

// badValue replaces the error of Go's parsers with one that describes the values that the flag takes.
func badValue(f *flag.Flag, value string, err error) error {
	if c, ok := errors.AsType[choiceError](err); ok {
		return fmt.Errorf("-%s is %w", f.Name, c)
	}
	why := err.Error()
	if g, ok := f.Value.(flag.Getter); ok {
		switch g.Get().(type) {
		case int:
			return notWhole(f.Name, value, math.MaxInt)
		case int64:
			return notWhole(f.Name, value, math.MaxInt64)
		case uint:
			return notWhole(f.Name, value, math.MaxUint)
		case uint64:
			return notWhole(f.Name, value, math.MaxUint64)
		case float64:
			why = "give a number"
		case time.Duration:
			why = "give a number with a unit, such as 90s or 2m"
		case bool:
			why = "give true or false"
		}
	}
	return fmt.Errorf("-%s %q: %s", f.Name, value, why)
}

// notWhole returns the error for a flag that takes a whole number. If the value is one, it is out of range.
func notWhole(name, value string, largest uint64) error {
	if _, err := strconv.ParseInt(value, 0, 64); errors.Is(err, strconv.ErrSyntax) {
		return fmt.Errorf("-%s %q: must be a whole number", name, value)
	}
	return fmt.Errorf("-%s %q: must be a whole number from 0 to %d", name, value, largest)
}

// A Choice is a flag that takes one of a few words.
type Choice struct {
	To      *string
	Allowed []string
}

// String implements [flag.Value].
func (c Choice) String() string {
	if c.To == nil {
		return ""
	}
	return *c.To
}

// Set implements [flag.Value].
func (c Choice) Set(s string) error {
	if !slices.Contains(c.Allowed, s) {
		return choiceError{s, c.Allowed}
	}
	*c.To = s
	return nil
}

// A choiceError lists the allowed words. Its text is the continuation of "-NAME is".
type choiceError struct {
	given   string
	allowed []string
}

func (e choiceError) Error() string {
	return fmt.Sprintf("%s, not %q%s", Or(e.allowed), e.given, didYouMean("", e.given, e.allowed))
}

// Or joins words with commas, and with "or" before the last.
func Or(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

// A Level is a flag that sets the log level.
type Level struct{ *slog.Level }

var levels = map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError}

// String implements [flag.Value].
func (l Level) String() string {
	if l.Level == nil {
		return ""
	}
	return strings.ToLower(l.Level.String())
}

// Set implements [flag.Value]. Letter case does not matter.
func (l Level) Set(s string) error {
	level, ok := levels[strings.ToLower(s)]
	if !ok {
		return choiceError{s, []string{"debug", "info", "warn", "error"}}
	}
	*l.Level = level
	return nil
}
