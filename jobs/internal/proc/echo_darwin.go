package proc

import "golang.org/x/sys/unix"

func echoAttrsOf(t *unix.Termios) EchoAttrs {
	const (
		oddIn    = unix.ISTRIP | unix.PARMRK
		oddOut   = unix.ONOCR
		oddLocal = unix.ECHOPRT | unix.EXTPROC
	)
	in := func(flag uint64) bool { return t.Iflag&flag != 0 }
	out := func(flag uint64) bool { return t.Oflag&flag != 0 }
	local := func(flag uint64) bool { return t.Lflag&flag != 0 }
	return EchoAttrs{
		IgnoreCR: in(unix.IGNCR), NLToCR: in(unix.INLCR), Flow: in(unix.IXON), UTF8: in(unix.IUTF8),
		Extended: local(unix.IEXTEN), KeepOld: local(unix.NOFLSH),
		Newline: local(unix.ECHONL), Caret: local(unix.ECHOCTL), EraseBack: local(unix.ECHOE),
		KillLine: local(unix.ECHOK), KillErases: local(unix.ECHOKE),
		Process: out(unix.OPOST), NLToCRNL: out(unix.ONLCR), CRToNLOut: out(unix.OCRNL),
		ExpandTabs: out(unix.OXTABS),
		Odd:        in(oddIn) || local(oddLocal) || out(unix.OPOST) && out(oddOut),
		EOL2:       char(t, unix.VEOL2), Start: char(t, unix.VSTART), Stop: char(t, unix.VSTOP),
		Literal: char(t, unix.VLNEXT), Reprint: char(t, unix.VREPRINT), WordErase: char(t, unix.VWERASE),
	}
}
