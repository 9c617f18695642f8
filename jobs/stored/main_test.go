package stored

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"shelld.dev/shelld/jobs/internal/match"
)

var long = flag.Bool("long", false, "run the long forms of tests")

func TestMain(m *testing.M) {
	code := m.Run()
	match.StopClock()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, "goroutines are left:", err)
			code = 1
		}
	}
	os.Exit(code)
}
