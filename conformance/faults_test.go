//go:build linux

package conformance

import (
	"cmp"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

var (
	update = flag.Bool("update", false, "look for sessions that catch the faults which those of the table do not, and write the table of docs/conformance.md")
	only   = flag.String("fault", "", "look for what catches the faults alone whose name this `regexp` matches, and write nothing")
	every  = flag.Bool("every", false, "let every session meet every fault, and tell how many catch it; this takes hours")
)

// sincere is the proxy without a fault.
var sincere = fault{name: "nothing"}

// faults returns all faults that the suite must detect.
func faults() []fault {
	return slices.Concat(wireFaults, answerFaults, eventFaults, waitFaults, effectFaults, moreEffects, portFaults, limitFaults, secretFaults, confirmFaults, searchFaults, execFaults, envFaults, directoryFaults, sessionFaults, paramFaults())
}

func faultNamed(name string) *fault {
	all := append(faults(), sincere)
	if i := slices.IndexFunc(all, func(f fault) bool { return f.name == name }); i >= 0 {
		return &all[i]
	}
	return nil
}

// most returns the maximum number of sessions that the table names for a fault. The test replays each of them.
func (f *fault) most() int {
	if f.word != "" {
		return 1
	}
	return 2
}

// A bench runs sessions against the real server behind the proxy.
type bench struct {
	server   string
	contract *Contract
	sessions []*Session
	counts   string // directory of the proxies' counts
	mu       sync.Mutex
	n        int
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{server: filepath.Join(t.TempDir(), "shelld"), counts: t.TempDir(), contract: contract(t)}
	// The suite imports nothing of the server, which is a separate program like any other.
	if out, err := exec.Command("go", "build", "-o", b.server, "../cmd/shelld").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var err error
	if b.sessions, err = Load(Sessions()); err != nil {
		t.Fatal(err)
	}
	return b
}

// A meeting is a run of one session with a fault.
type meeting struct {
	Result
	fault     *fault
	committed int
}

// caught reports whether the fault was committed and detected for the right reason.
func (m *meeting) caught() bool {
	return m.committed > 0 && m.Verdict == Failed && regexp.MustCompile(m.fault.says).MatchString(m.Reason)
}

func (b *bench) meet(t *testing.T, f *fault, s *Session, framing string, within time.Duration) *meeting {
	b.mu.Lock()
	b.n++
	count := filepath.Join(b.counts, fmt.Sprint(b.n))
	b.mu.Unlock()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r := Run(s, framing, Config{
		Contract: b.contract, Command: []string{self, proxyWord, f.name, count, b.server}, Orphans: true,
		Connect: []string{self, proxyWord, f.name, count, b.server, "connect", "-session", "{session}"},
		Within:  within, Shutdown: within + 3*time.Second, // and the server's own grace period
	})
	m := &meeting{Result: r, fault: f}
	if info, err := os.Stat(count); err == nil {
		m.committed = int(info.Size())
	}
	return m
}

// framingOf returns the framing in which a session meets the fault: a single one, since the other gives the same
// result.
func (f *fault) framingOf(s *Session) string {
	i := slices.Index(s.Framings, cmp.Or(f.framing, "header"))
	switch {
	case i >= 0:
		return s.Framings[i]
	case f.framing != "":
		return ""
	}
	return s.Framings[0]
}

// abreast calls do for all elements, n at a time: most of them wait.
func abreast[T any](n int, all []T, do func(T)) {
	var workers sync.WaitGroup
	todo := make(chan T)
	for range n {
		workers.Go(func() {
			for v := range todo {
				do(v)
			}
		})
	}
	for _, v := range all {
		todo <- v
	}
	close(todo)
	workers.Wait()
}

const (
	tableFile  = "testdata/faults.md"
	tableBegin = "<!-- faults: go test ./conformance -run 'TestFaults$' -update -->\n"
	tableEnd   = "<!-- end of faults -->\n"
)

// within returns the time limit of a step: a short one if only silence shows the fault.
func (f *fault) within() time.Duration {
	if f.slow {
		return 2 * time.Second
	}
	return 20 * time.Second
}

// TestFaults checks that each fault is caught by the sessions in the documentation's table, and that the table is
// what the search finds.
func TestFaults(t *testing.T) {
	if testing.Short() {
		t.Skip("a real server is run some hundred times")
	}
	b := newBench(t)
	doc, err := os.ReadFile(tableFile)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(doc), tableBegin)
	old, tail, ok2 := strings.Cut(rest, tableEnd)
	if !ok || !ok2 {
		t.Fatalf("%s has no lines %q and %q", tableFile, tableBegin, tableEnd)
	}
	var found map[string][]string
	if *update || *every || *only != "" {
		found = b.search(t, old)
	} else {
		found = b.replay(t, old)
	}
	made := table(found)
	switch {
	case *only != "" || *every && !*update || made == old:
	case *update:
		if err := os.WriteFile(tableFile, []byte(head+tableBegin+made+tableEnd+tail), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s has another table than comes out; see there how it is made. It is\n%s\nand was\n%s", tableFile, made, old)
	}
	if left := children(); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
}

// table formats the table of the documentation.
func table(found map[string][]string) string {
	var s strings.Builder
	s.WriteString("| a server that … | is caught by |\n| --- | --- |\n")
	for _, f := range faults() {
		fmt.Fprintf(&s, "| %s | %s |\n", f.name, strings.Join(found[f.name], ", "))
	}
	return s.String()
}

// named parses the sessions that the table names.
func named(old string) map[string][]string {
	found := map[string][]string{}
	for line := range strings.SplitSeq(old, "\n") {
		if cells := strings.Split(line, "|"); len(cells) == 4 {
			found[strings.TrimSpace(cells[1])] = strings.Split(strings.TrimSpace(cells[2]), ", ")
		}
	}
	return found
}

// A pair is a fault and a session that must catch it.
type pair struct {
	f *fault
	s *Session
}

// persists runs a session with a fault, and retries if the fault is not caught: the server's output may have come
// in one chunk where the fault needs two, and a busy machine may need more time. It does not begin with the long
// limit, because a missing message takes the whole limit, and a fault that delays a server by five seconds is
// none within twenty.
func (b *bench) persists(t *testing.T, p pair) (m *meeting) {
	short := p.f.within()
	for _, within := range []time.Duration{short, 2 * short, 2 * short, defaultWithin} {
		if m = b.meet(t, p.f, p.s, p.f.framingOf(p.s), min(within, defaultWithin)); m.caught() {
			break
		}
	}
	return m
}

// everyRaced is the sampling interval of faults with the race detector. everyParam is that of the faults that
// ignore a member of params, which all use the same code.
const (
	everyRaced = 8
	everyParam = 4
)

// everyUsual is the sampling interval of the other faults without -ci.
const everyUsual = 3

// replayed reports whether the i-th fault runs with the n-th of its sessions. One session is enough to show that
// a fault is caught; with -long all of them run.
func replayed(f *fault, i, n int) bool {
	switch {
	case raced:
		return n == 0 && i%everyRaced == 0
	case *long:
		return true
	case f.word != "":
		return n == 0 && i%(everyParam*usually(everyUsual)) == 0
	}
	return n == 0 && i%usually(everyUsual) == 0
}

// replay runs the sessions of the table with their faults.
func (b *bench) replay(t *testing.T, old string) map[string][]string {
	found := named(old)
	var pairs []pair
	for i, f := range faults() {
		if len(found[f.name]) == 0 || found[f.name][0] == "" {
			t.Errorf("no session is named that catches a server that %s", f.name)
		}
		for n, name := range found[f.name] {
			session := slices.IndexFunc(b.sessions, func(s *Session) bool { return s.Name == name })
			switch {
			case session < 0:
				t.Errorf("there is no session %q", name)
			case replayed(&f, i, n):
				pairs = append(pairs, pair{faultNamed(f.name), b.sessions[session]})
			}
		}
	}
	abreast(12, pairs, func(p pair) {
		if m := b.persists(t, p); !m.caught() {
			t.Errorf("a server that %s is not caught by %s, committed %d times: %s, want %q: %s\n%s", p.f.name, p.s.Name, m.committed, m.Verdict, p.f.says, m.Reason, m.Transcript)
		}
	})
	return found
}

// search finds sessions that catch each fault in both of two runs. Entries of the table are kept if they still
// hold; with -every the search ignores them.
func (b *bench) search(t *testing.T, old string) map[string][]string {
	found := map[string][]string{}
	var mu sync.Mutex
	all, before := faults(), named(old)
	var wanted []*fault
	for i := range all {
		if only := regexp.MustCompile(*only); only.MatchString(all[i].name) {
			wanted = append(wanted, &all[i])
		}
	}
	abreast(4, wanted, func(f *fault) {
		names, log := before[f.name], "as before"
		names = names[:min(len(names), f.most())]
		if *every || *only != "" || !b.holds(t, f, names) {
			names, log = b.searchFor(t, f)
		}
		mu.Lock()
		defer mu.Unlock()
		found[f.name] = names
		t.Log(f.name + ": " + log)
		if len(names) == 0 {
			t.Errorf("no session catches a server that %s", f.name)
		}
	})
	return found
}

// holds reports whether these sessions still catch a fault.
func (b *bench) holds(t *testing.T, f *fault, names []string) bool {
	for _, name := range names {
		i := slices.IndexFunc(b.sessions, func(s *Session) bool { return s.Name == name })
		if i < 0 || !b.persists(t, pair{f, b.sessions[i]}).caught() {
			return false
		}
	}
	return len(names) > 0
}

func (b *bench) searchFor(t *testing.T, f *fault) (names []string, log string) {
	committed, caught := 0, 0
	var s strings.Builder
	within := min(f.within(), 4*time.Second) // In a search, many sessions wait in vain for unrelated reasons.
	for _, session := range b.sessions {
		framing := f.framingOf(session)
		if framing == "" || f.level != "" && f.level != session.Level || !*every && len(names) >= f.most() || !b.has(session, f.word) {
			continue
		}
		m := b.meet(t, f, session, framing, within)
		if m.committed == 0 {
			continue
		}
		committed++
		if !m.caught() {
			fmt.Fprintf(&s, "    %s: %s: %s\n", session.Name, m.Verdict, strings.ReplaceAll(m.Reason, "\n", " "))
			continue
		}
		caught++
		if len(names) < f.most() && b.meet(t, f, session, framing, within).caught() {
			names = append(names, session.Name)
			fmt.Fprintf(&s, "  + %s: %s\n", session.Name, strings.ReplaceAll(m.Reason, "\n", " "))
		}
	}
	return names, fmt.Sprintf("committed in %d, caught in %d\n%s", committed, caught, s.String())
}

// has reports whether a session's file contains a word.
func (b *bench) has(s *Session, word string) bool {
	data, err := fs.ReadFile(Sessions(), s.Name+extension)
	return err == nil && strings.Contains(string(data), word)
}

// TestControl checks that sessions pass in each framing through a proxy without a fault. It runs a fair share of
// them, or all, since cmd/shelld runs every one without the proxy.
func TestControl(t *testing.T) {
	if testing.Short() {
		t.Skip("a real server is run some hundred times")
	}
	if raced {
		t.Skip("every session is run under the race detector in cmd/shelld; here it would see the proxy again")
	}
	b := newBench(t)
	var pairs []pair
	for _, s := range sample(b.sessions, 4) {
		pairs = append(pairs, pair{&sincere, s})
	}
	abreast(8, pairs, func(p pair) {
		for _, framing := range p.s.Framings {
			// All must pass, however busy the machine is.
			if m := b.meet(t, p.f, p.s, framing, time.Minute); m.Verdict != Passed && m.Verdict != Skipped || m.committed != 0 {
				t.Errorf("%s (%s): %s: %s\n%s", p.s.Name, framing, m.Verdict, m.Reason, m.Transcript)
			}
		}
	})
	if left := children(); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
}
