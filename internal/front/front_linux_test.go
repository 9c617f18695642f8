package front

import (
	"io"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestWait(t *testing.T) {
	for name, c := range map[string]struct {
		parts []string // what the host sends before it closes the link
		want  int
	}{
		"a status":         {[]string{`{"exit":3}` + "\n"}, 3},
		"in parts":         {[]string{`{"ex`, `it":1`, "}\n"}, 1},
		"behind others":    {[]string{`{"later":"one"}` + "\n" + `{"exit":0}` + "\n"}, 0},
		"none":             {nil, StatusGone},
		"half a message":   {[]string{`{"exit":3}`}, StatusGone},
		"something else":   {[]string{"hello\n"}, StatusGone},
		"an endless line":  {[]string{strings.Repeat("x", 2*maxLine), `{"exit":3}` + "\n"}, StatusGone},
		"no number":        {[]string{`{"exit":"3"}` + "\n"}, StatusGone},
		"an empty message": {[]string{"\n\n" + `{"exit":2}` + "\n"}, 2},
	} {
		fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		link, host := os.NewFile(uintptr(fds[0]), "link"), os.NewFile(uintptr(fds[1]), "host")
		go func() {
			for _, p := range c.parts {
				_, _ = io.WriteString(host, p) // The front does not read a message that is too long to its end.
			}
			_ = host.Close()
		}()
		if got := (Front{Link: link}).Wait(); got != c.want {
			t.Errorf("%s: exit status %d, not %d", name, got, c.want)
		}
		_ = link.Close()
	}
}
