package proc

// EchoAttrs are the modes that, in addition to those in Attrs, determine the echo of typed bytes. A character that is 0
// is disabled.
type EchoAttrs struct {
	// Input modes: how typed bytes are translated before they are echoed.
	IgnoreCR bool // IGNCR: a carriage return is dropped
	NLToCR   bool // INLCR: a newline arrives as a carriage return
	Flow     bool // IXON: Start and Stop are removed from the input
	Extended bool // IEXTEN: WordErase, Literal, Reprint and EOL2 work
	KeepOld  bool // NOFLSH: Intr, Quit and Susp do not discard the queued input
	UTF8     bool // IUTF8: Erase removes a whole character

	// Echo modes.
	Newline    bool // ECHONL: a newline is echoed, even without Echo
	Caret      bool // ECHOCTL: control characters are echoed as ^X
	EraseBack  bool // ECHOE: Erase wipes the character from the screen
	KillLine   bool // ECHOK: Kill begins a new line
	KillErases bool // ECHOKE: Kill wipes the line from the screen

	// Output modes: how the terminal translates the echo.
	Process    bool // OPOST: the following modes apply
	NLToCRNL   bool // ONLCR: a newline becomes CR LF
	CRToNLOut  bool // OCRNL: a carriage return becomes a newline
	ExpandTabs bool // XTABS: a tab becomes spaces

	// Odd is set if a mode is on that is hardly ever used and whose echo package echo does not compute: stripped or
	// folded characters, marked errors, hardcopy erasing and the like.
	Odd bool

	EOL2, Start, Stop, Literal, Reprint, WordErase byte
}
