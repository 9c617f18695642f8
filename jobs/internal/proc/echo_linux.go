package proc

import "golang.org/x/sys/unix"

func echoAttrsOf(t *unix.Termios) EchoAttrs {
	const (
		oddIn    = unix.ISTRIP | unix.IUCLC | unix.PARMRK
		oddOut   = unix.OLCUC | unix.ONOCR
		oddLocal = unix.ECHOPRT | unix.EXTPROC
	)
	in := func(flag uint32) bool { return t.Iflag&flag != 0 }
	out := func(flag uint32) bool { return t.Oflag&flag != 0 }
	local := func(flag uint32) bool { return t.Lflag&flag != 0 }
	return EchoAttrs{
		IgnoreCR: in(unix.IGNCR), NLToCR: in(unix.INLCR), Flow: in(unix.IXON), UTF8: in(unix.IUTF8),
		Extended: local(unix.IEXTEN), KeepOld: local(unix.NOFLSH),
		Newline: local(unix.ECHONL), Caret: local(unix.ECHOCTL), EraseBack: local(unix.ECHOE),
		KillLine: local(unix.ECHOK), KillErases: local(unix.ECHOKE),
		Process: out(unix.OPOST), NLToCRNL: out(unix.ONLCR), CRToNLOut: out(unix.OCRNL),
		ExpandTabs: t.Oflag&unix.TABDLY == unix.XTABS,
		Odd:        in(oddIn) || local(oddLocal) || out(unix.OPOST) && out(oddOut),
		EOL2:       t.Cc[unix.VEOL2], Start: t.Cc[unix.VSTART], Stop: t.Cc[unix.VSTOP],
		Literal: t.Cc[unix.VLNEXT], Reprint: t.Cc[unix.VREPRINT], WordErase: t.Cc[unix.VWERASE],
	}
}
