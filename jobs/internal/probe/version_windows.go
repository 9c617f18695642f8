package probe

import (
	"fmt"

	"golang.org/x/sys/windows"
)

// OSVersion returns the version of the system; "" = not known.
func OSVersion() string {
	v := windows.RtlGetVersion()
	return fmt.Sprintf("%d.%d.%d", v.MajorVersion, v.MinorVersion, v.BuildNumber)
}
