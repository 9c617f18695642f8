package follow

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"shelld.dev/shelld/jobs/internal/match"
)

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
