package echo

import (
	"flag"
	"testing"

	"go.uber.org/goleak"
)

// long is set by go test ./jobs/internal/echo -long; see docs/architecture.md.
var long = flag.Bool("long", false, "run the long forms of the tests")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
