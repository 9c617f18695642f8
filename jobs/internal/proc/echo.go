package proc

// EchoAttrs are the modes that decide, beside those in Attrs, what a terminal shows
// of the bytes that are typed into it. A character that is 0 is disabled.
type EchoAttrs struct {
	// What typed bytes become before they are shown.
	IgnoreCR bool // IGNCR: a carriage return is dropped
	NLToCR   bool // INLCR: a newline arrives as a carriage return
	Flow     bool // IXON: Start and Stop are taken out
	Extended bool // IEXTEN: WordErase, Literal, Reprint and EOL2 work
	KeepOld  bool // NOFLSH: Intr, Quit and Susp do not throw away what is queued
	UTF8     bool // IUTF8: Erase takes a whole character

	// How they are shown.
	Newline    bool // ECHONL: a newline is, without Echo too
	Caret      bool // ECHOCTL: control characters as ^X
	EraseBack  bool // ECHOE: Erase wipes the character
	KillLine   bool // ECHOK: Kill begins a new line
	KillErases bool // ECHOKE: Kill wipes the line

	// What the terminal makes of that on its way out.
	Process    bool // OPOST: the following count
	NLToCRNL   bool // ONLCR: a newline becomes CR LF
	CRToNLOut  bool // OCRNL: a carriage return becomes a newline
	ExpandTabs bool // XTABS: a tab becomes spaces

	// Odd says that a mode is on that nobody uses and whose echo is not worked out
	// here: stripped or folded characters, marked errors, hardcopy erasing and such.
	Odd bool

	EOL2, Start, Stop, Literal, Reprint, WordErase byte
}
