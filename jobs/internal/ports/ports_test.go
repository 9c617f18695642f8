package ports

import (
	"net/netip"
	"testing"
)

func listener(address string, port int, user int64, inode uint64) Listener {
	return Listener{Port: port, Address: netip.MustParseAddr(address), User: user, inode: inode}
}

// TestFound: the lowest port and address come first; listeners with an unknown owner do not count for any port.
func TestFound(t *testing.T) {
	f := Found{
		Own:    []Listener{listener("0.0.0.0", 80, 1, 1), listener("::", 80, 1, 2), listener("::1", 90, 1, 3)},
		Maybe:  []Listener{listener("0.0.0.0", 70, 0, 4)},
		Others: []Listener{listener("0.0.0.0", 60, 2, 5), listener("127.0.0.1", 90, 2, 6)},
	}
	inode := func(l Listener, ok bool) uint64 {
		if !ok {
			return 0
		}
		return l.inode
	}
	for _, c := range []struct {
		port           int
		holder, others uint64
	}{{0, 1, 0}, {80, 1, 0}, {90, 3, 6}, {70, 4, 0}, {60, 0, 5}, {50, 0, 0}} {
		if got := inode(f.Holder(c.port)); got != c.holder {
			t.Errorf("port %d is held by %d, not %d", c.port, got, c.holder)
		}
		if got := inode(f.Stranger(c.port)); got != c.others {
			t.Errorf("somebody else on port %d is %d, not %d", c.port, got, c.others)
		}
	}
	only := Found{Maybe: f.Maybe}
	if l, ok := only.Holder(0); ok {
		t.Errorf("any port is %+v", l)
	}
}
