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

// What Suggest looks at, at most.
const (
	maxSuggestions   = 3
	maxSuggestDirs   = 64
	maxSuggestFiles  = 20000 // in all directories together
	maxSuggestLength = 64    // bytes of a name
)

// Suggest returns up to three names on PATH that are near a name that was not
// found and may be told (nil: any), the best first. Its work is bounded. It does not open what is no
// directory, so that a pipe on PATH cannot hold it up; a file system that does
// not answer has held LookPath up before.
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

// suggestLimit is how many edits away a name may be: none for a single letter,
// which everything short is near to.
func suggestLimit(name string) int {
	switch n := len([]rune(name)); {
	case n < 2 || len(name) > maxSuggestLength || strings.ContainsRune(name, '/') || name[0] == '-':
		return 0 // A flag that stands where the command should is no misspelling of one.
	case n < 5:
		return 1
	case n < 9:
		return 2
	}
	return 3
}

// Nearest returns the one of some names that is nearest to a wrong one, or "" where
// none is near.
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

// suggestFrom adds the near names of one directory. Only those are looked at more
// closely, later.
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

// plausible says whether somebody can have meant a name that is so many edits away.
// Hardly anybody gets the first letter wrong and another one too; and of two letters
// one edit leaves so little that only those in the other order, or cut short, count.
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

// commandName is what one types for a file.
func commandName(file string) string {
	if runtime.GOOS == "windows" {
		return strings.ToLower(strings.TrimSuffix(file, filepath.Ext(file)))
	}
	return file
}

// distance counts the letters to be inserted, removed, replaced, or swapped with
// their neighbour, to make b of a (the restricted Damerau-Levenshtein distance).
// Beyond limit it is limit+1.
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
