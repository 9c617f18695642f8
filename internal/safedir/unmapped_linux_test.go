package safedir

import "testing"

func TestIsIn(t *testing.T) {
	for mapped, want := range map[string]bool{
		"         0          0 4294967295\n": true, "0 100000 65536\n": true, "0 1000 1\n": false, "0 1000 1\n1 100000 65533\n": false,
		"0 1000 1\n65534 5 1\n": true, "65535 0 10\n": false, "": false, "what\n": true,
	} {
		if got := isIn(mapped, 65534); got != want {
			t.Errorf("%q: %v", mapped, got)
		}
	}
}

func TestMountPoints(t *testing.T) {
	for path, want := range map[string]bool{"/": true, "/proc": true, "/proc/self": false, "/no such": false, t.TempDir(): false} {
		if got := isMountPoint(path); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}
