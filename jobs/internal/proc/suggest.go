package proc

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"unicode/utf8"
)

// The limits of Suggest's work.
const (
	maxSuggestions   = 3
	maxSuggestDirs   = 64
	maxSuggestFiles  = 20000 // in all directories together
	maxSuggestLength = 64    // bytes of a name
)

// Suggest returns up to three names on PATH that are similar to a name that was not found, the best first. Only names
// for which may returns true are suggested; nil: any. Its work is bounded. It opens only directories, so that a named
// pipe on PATH cannot block it. A file system that does not respond has blocked LookPath before.
func Suggest(name string, env []string, may func(name string) bool) []string {
	limit := suggestLimit(name)
	if limit == 0 {
		return nil
	}
	var found []suggestion
	left := maxSuggestFiles
	for i, dir := range searchPath(env) {
		if i == maxSuggestDirs || left <= 0 {
			break
		}
		found, left = suggestFrom(dir, name, limit, found, left)
	}
	slices.SortFunc(found, suggestion.compare)
	var names []string
	for _, s := range found {
		if len(names) == maxSuggestions {
			break
		}
		if !slices.Contains(names, s.name) && (may == nil || may(s.name)) && checkExecutable(s.path) == nil {
			names = append(names, s.name)
		}
	}
	return names
}

// suggestLimit returns how many edits away a suggestion may be: 0 for a single letter, since every short name is near
// it.
func suggestLimit(name string) int {
	switch n := len([]rune(name)); {
	case n < 2 || len(name) > maxSuggestLength || strings.ContainsRune(name, '/') || name[0] == '-':
		return 0 // A flag in place of the command is not a misspelling of a command.
	case n < 5:
		return 1
	case n < 9:
		return 2
	}
	return 3
}

// Nearest returns the name in names that is most similar to a wrong name, or "" if none is near enough.
func Nearest(name string, names []string) string {
	limit := suggestLimit(name)
	best, nearest := limit+1, ""
	for _, n := range names {
		if d := distance(name, n, limit); d < best && plausible(name, n, d) {
			best, nearest = d, n
		}
	}
	return nearest
}

type suggestion struct {
	name, path string
	distance   int
}

func (a suggestion) compare(b suggestion) int {
	if a.distance != b.distance {
		return a.distance - b.distance
	}
	return strings.Compare(a.name, b.name)
}

// suggestFrom adds the similar names in one directory to found. Suggest checks later whether these can be executed.
// left is the number of files that may still be read; suggestFrom returns the rest.
func suggestFrom(dir, name string, limit int, found []suggestion, left int) ([]suggestion, int) {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return found, left
	}
	f, err := os.Open(dir)
	if err != nil {
		return found, left
	}
	defer func() { _ = f.Close() }()
	for left > 0 {
		entries, err := f.ReadDir(256)
		left -= len(entries)
		for _, entry := range entries {
			if t := entry.Type(); !t.IsRegular() && t != fs.ModeSymlink {
				continue
			}
			candidate := commandName(entry.Name())
			if d := distance(name, candidate, limit); d <= limit && candidate != name && plausible(name, candidate, d) {
				found = append(found, suggestion{candidate, filepath.Join(dir, entry.Name()), d})
			}
		}
		if err != nil {
			break
		}
	}
	return found, left
}

// plausible reports whether name can be a misspelling of candidate, which is so many edits away. People hardly ever get
// the first letter wrong and another one too. An edit leaves little of a name of two letters, so that only swapped
// letters and a cut-off end count.
func plausible(name, candidate string, edits int) bool {
	first, size := utf8.DecodeRuneInString(name)
	switch {
	case utf8.RuneCountInString(name) == 2:
		return strings.HasPrefix(candidate, name) || candidate == name[size:]+string(first)
	case edits > 1:
		return strings.HasPrefix(candidate, name[:size])
	}
	return true
}

// commandName returns the name that a user types for a file: on Windows in lower case and without its ending.
func commandName(file string) string {
	if runtime.GOOS == "windows" {
		return strings.ToLower(strings.TrimSuffix(file, filepath.Ext(file)))
	}
	return file
}

// distance returns the number of letters to insert, remove, replace, or swap with their neighbour, to turn a into b
// (the restricted Damerau-Levenshtein distance). If it exceeds limit, distance returns limit+1.
func distance(a, b string, limit int) int {
	ra, rb := []rune(a), []rune(b)
	if len(ra)-len(rb) > limit || len(rb)-len(ra) > limit || len(b) > 2*maxSuggestLength {
		return limit + 1
	}
	before, last, row := make([]int, len(rb)+1), make([]int, len(rb)+1), make([]int, len(rb)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(ra); i++ {
		row[0] = i
		for j := 1; j <= len(rb); j++ {
			cost := 1
			if ra[i-1] == rb[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && ra[i-1] == rb[j-2] && ra[i-2] == rb[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return min(last[len(rb)], limit+1)
}
