package jobs

import (
	"os"
	"path/filepath"
	"runtime"
)

// StateDirectory is where output files lie unless somebody says otherwise: where the
// XDG rules want it, or at the platform's own place. "" where no home is known.
func StateDirectory() string {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) { // The rules: ignore a relative one.
		return filepath.Join(dir, "shelld", "io")
	}
	place, err := os.UserHomeDir()
	switch runtime.GOOS {
	case "windows":
		place, err = os.UserCacheDir() // %LocalAppData%, which does not roam
	case "darwin":
		place, err = os.UserConfigDir() // ~/Library/Application Support, which is not purged
	default:
		place = filepath.Join(place, ".local", "state")
	}
	if err != nil || !filepath.IsAbs(place) {
		return ""
	}
	return filepath.Join(place, "shelld", "io")
}
