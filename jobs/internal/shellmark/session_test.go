package shellmark

import (
	"fmt"
	"strings"
	"testing"
)

var phaseNames = map[Phase]string{
	PhaseBeginning: "beginning", PhaseReady: "ready", PhaseHanded: "handed", PhaseHidden: "hidden",
	PhaseAsked: "asked", PhaseRunning: "running", PhaseGone: "gone",
}

// play sends events, by name, to a session, and returns the phase after each. If an event reports something, that
// follows its phase.
func play(t *testing.T, s *Session, events string) string {
	t.Helper()
	var all []string
	for _, event := range strings.Fields(events) {
		said := ""
		switch event {
		case "ready":
			if !s.OnReady() {
				said = ":ignored"
			}
		case "hand":
			s.Hand(PhaseHanded)
		case "hide":
			s.Hand(PhaseHidden)
		case "ask":
			s.Hand(PhaseAsked)
		case "loaded":
			s.OnLoaded(s.Seq())
		case "loaded-old":
			s.OnLoaded(s.Seq() - 1)
		case "began":
			s.OnBegan(true)
		case "typed-began":
			s.OnBegan(false)
		case "ended":
			s.OnEnded()
		case "dropped":
			s.OnDropped()
		case "more":
			if s.OnMore() {
				said = ":incomplete"
			}
		case "drop":
			s.DropIncomplete()
		case "ran", "ran-old":
			seq := s.Seq()
			if event == "ran-old" {
				seq--
			}
			if hidden, doubted := s.OnRan(seq); hidden {
				said = ":hidden"
			} else if doubted != 0 {
				said = fmt.Sprintf(":doubted=%d", doubted)
			}
		case "doubt":
			s.Doubt(s.Seq())
		case "doubt-running":
			s.Doubt(DoubtRunning)
		case "end-doubt":
			s.EndDoubt()
		case "typed":
			s.OnTyped()
		case "taken":
			s.TakeBack()
			said = ":was-" + phaseNames[s.OnTaken()]
		case "leave":
			s.Leave()
		default:
			t.Fatalf("no event is called %q", event)
		}
		all = append(all, phaseNames[s.Phase()]+said)
	}
	return strings.Join(all, " ")
}

func TestSessionPhases(t *testing.T) {
	for _, c := range []struct{ name, events, want string }{
		{"a command", "ready hand loaded began ended ready", "ready handed handed running beginning ready"},
		{"a typed command", "ready typed-began ended ready", "ready running beginning ready"},
		{"an empty line", "ready ended ready", "ready beginning ready"},
		{"a prompt drawn again", "ready ready hand ready began", "ready ready handed handed:ignored running"},
		{"the end of an empty line while handed", "ready hand ended began", "ready handed handed running"},
		{"hidden code", "ready hide loaded ran", "ready hidden hidden ready:hidden"},
		{"hidden code that was given up", "ready hide taken ready hide ran-old ran", "ready hidden ready:was-hidden ready hidden hidden ready:hidden"},

		{"a command behind a typed one", "ready hand typed-began ended ready began ended", "ready handed running beginning handed running beginning"},
		{"read behind a typed one", "ready hand typed-began ended loaded began", "ready handed running beginning handed running"},
		{"begun before the typed one ended", "ready hand typed-began ended began ended ready", "ready handed running beginning running beginning ready"},
		{"two typed ones first", "ready hand typed-began ended typed-began ended ready began", "ready handed running beginning running beginning handed running"},
		{"hidden code behind a typed command", "ready hide typed-began ended ran", "ready hidden running beginning ready:hidden"},
		{"hidden code while the typed one runs", "ready hide typed-began ran ended ready", "ready hidden running running beginning hidden"},

		{"dropped", "ready hand loaded dropped ready hand began", "ready handed handed beginning ready handed running"},
		{"dropped behind a typed one", "ready hand typed-began dropped ended ready", "ready handed running running beginning ready"},
		{"hidden code is not dropped", "ready hide dropped", "ready hidden hidden"},

		{"an incomplete command", "ready hand loaded more drop ready", "ready handed handed handed:incomplete beginning ready"},
		{"an incomplete line typed", "ready more", "ready ready"},
		{"an incomplete line before the command is read", "ready hand more", "ready handed handed"},
		{"an incomplete line, and an older command read", "ready hand loaded-old more", "ready handed handed handed"},

		{"not begun", "ready hand taken hand began", "ready handed ready:was-handed handed running"},
		{"in doubt, and not run", "ready hand taken doubt ask ran", "ready handed ready:was-handed ready asked ready:doubted=1"},
		{"in doubt, and it runs", "ready hand taken doubt ask began ran ended", "ready handed ready:was-handed ready asked running running beginning"},
		{"in doubt, and no answer", "ready hand taken doubt ask taken end-doubt", "ready handed ready:was-handed ready asked ready:was-asked ready"},
		{"whether one runs: yes", "ready typed-began doubt-running ask taken end-doubt ended", "ready running running asked ready:was-asked running beginning"},
		{"whether one runs: it has ended", "ready typed-began doubt-running ask ended ran", "ready running running asked asked ready:doubted=-1"},
		{"whether one runs: the question has run", "ready typed-began doubt-running ask ran", "ready running running asked running:doubted=-1"},

		{"gone", "ready leave ready ended", "ready gone gone:ignored gone"},
		{"gone while handed", "ready hand typed-began ended leave loaded", "ready handed running beginning gone gone"},
	} {
		if got := play(t, new(Session), c.events); got != c.want {
			t.Errorf("%s: %s\n got %s\nwant %s", c.name, c.events, got, c.want)
		}
	}
}

// An owed question and an unconfirmed command end with the answer.
func TestSessionForgetsDoubt(t *testing.T) {
	for _, c := range []struct {
		events string
		doubt  int64
		owes   bool
	}{
		{"ready hand taken doubt", 1, false},
		{"ready hand taken doubt ask", 1, false},
		{"ready hand taken doubt ask ran", 0, false},
		{"ready hand taken doubt ask began", 1, true},
		{"ready hand taken doubt ask began ran", 0, false},
		{"ready hand taken doubt ask began ended ready", 1, true},
		{"ready hand taken doubt ask taken end-doubt", 0, false},
		{"ready typed-began doubt-running", DoubtRunning, false},
	} {
		s := new(Session)
		play(t, s, c.events)
		if s.InDoubt() != c.doubt || c.owes && !s.Has(PhaseAsked) || !c.owes && s.owed != PhaseBeginning {
			t.Errorf("%s: %d is in doubt, and the phase is %s, %s owed", c.events, s.InDoubt(), phaseNames[s.Phase()], phaseNames[s.owed])
		}
	}
}

func TestSessionLines(t *testing.T) {
	for _, c := range []struct {
		events       string
		typing, more bool
	}{
		{"typed", false, false},
		{"ready typed", true, false},
		{"ready typed ready", false, false},
		{"ready typed typed-began", true, false},
		{"ready hand typed", false, false},
		{"ready typed more", true, true},
		{"ready more ready", false, false},
		{"ready more typed-began", false, false},
		{"ready hand more ready", false, true}, // this mark does not count
	} {
		s := new(Session)
		play(t, s, c.events)
		if s.Typing() != c.typing || s.More() != c.more {
			t.Errorf("%s: typing %v, more %v", c.events, s.Typing(), s.More())
		}
	}
}

// Probes are counted from 0 again whenever the shell may have to act on the text before it reads.
func TestSessionCountsProbesAnew(t *testing.T) {
	for _, c := range []struct {
		before, then string
		want         int
	}{
		{"ready hand", "ready", 7},
		{"ready hand", "loaded", 0},
		{"ready hand", "loaded-old", 7},
		{"ready hand", "typed-began ended", 7},
		{"ready hand", "typed-began ended ready", 0},
		{"ready hand", "typed-began ended loaded-old", 0},
		{"ready hand", "taken", 7},
		{"ready hand", "taken hand", 0},
	} {
		s := new(Session)
		play(t, s, c.before)
		s.CountFrom(7)
		if play(t, s, c.then); s.Since() != c.want {
			t.Errorf("%s, then %s: counts from %d, want %d", c.before, c.then, s.Since(), c.want)
		}
	}
}

func TestSessionTakesBackUntilHandedAgain(t *testing.T) {
	s := new(Session)
	if s.OnReady(); s.Hand(PhaseHanded) != 1 || s.Taking() {
		t.Fatalf("the first number is %d; taken back: %v", s.Seq(), s.Taking())
	}
	if s.TakeBack(); !s.Taking() {
		t.Error("nothing is being taken back")
	}
	if s.OnTaken(); s.Taking() {
		t.Error("it is still being taken back")
	}
	s.TakeBack()
	if s.Hand(PhaseHidden) != 2 || s.Taking() {
		t.Errorf("the second number is %d; taken back: %v", s.Seq(), s.Taking())
	}
}

func TestHandoverIsBounded(t *testing.T) {
	var h Handover
	tries := 1
	for h.Give(int64(tries)); h.Fail(); h.Give(int64(tries)) {
		if tries++; h.Seq() != 0 {
			t.Error("a command that failed is still handed over")
		}
	}
	asked := 0
	for h.AskAgain() {
		asked++
	}
	if tries != mostTries || asked != mostDoubts {
		t.Errorf("handed over %d times, asked %d times", tries, asked)
	}
	if h.Give(9); h.Seq() != 9 {
		t.Errorf("number %d", h.Seq())
	}
	if h.Withdraw(); h.Seq() != 0 {
		t.Error("it is not withdrawn")
	}
}
