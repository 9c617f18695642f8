package inputwait

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// An event loop may use a socket pair to wake itself up, as asyncio does, and so every program that reads keys with
// prompt_toolkit. Such a socket does not mean that the program serves clients. The kernel reports the inode of its
// peer.

// A pairing is a socket and its peer. The peer of a socket pair never changes.
type pairing struct{ inode, peer uint64 }

// peerOf returns the inode of a unix socket's peer, 0 if it has none or the kernel does not report it. It does not for
// sockets of another network namespace.
func (p *Prober) peerOf(inode uint64) uint64 {
	for _, known := range p.pairs {
		if known.inode == inode {
			return known.peer
		}
	}
	p.r.work += 8
	peer, err := askPeer(uint32(inode))
	if err != nil {
		p.r.failed = err
		return 0
	}
	if len(p.pairs) >= maxPairs {
		p.pairs = p.pairs[:0]
	}
	p.pairs = append(p.pairs, pairing{inode, peer})
	return peer
}

const maxPairs = 16

// Constants from the kernel's linux/unix_diag.h.
const (
	diagByFamily = 20
	diagShowPeer = 4
	diagPeer     = 2 // the attribute

	netlinkHeader = 16
	diagMessage   = 16 // family, type, state, padding byte, inode, two words of a cookie
)

// askPeer returns an error only if the server is out of descriptors or memory.
func askPeer(inode uint32) (peer uint64, err error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_SOCK_DIAG)
	switch err {
	case nil:
	case unix.EMFILE, unix.ENFILE, unix.ENOBUFS, unix.ENOMEM:
		return 0, err
	default:
		return 0, nil // The kernel has no such interface.
	}
	defer func() { _ = unix.Close(fd) }()
	if err := unix.Sendto(fd, peerRequest(inode), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return 0, nil
	}
	var buf [512]byte
	n, _, err := unix.Recvfrom(fd, buf[:], 0) // The kernel produces the answer while it handles the request.
	if err != nil {
		return 0, nil
	}
	return peerAnswer(buf[:n], inode), nil
}

func peerRequest(inode uint32) []byte {
	e := binary.NativeEndian
	b := make([]byte, 0, netlinkHeader+24)
	b = e.AppendUint32(b, netlinkHeader+24)
	b = e.AppendUint16(b, diagByFamily)
	b = e.AppendUint16(b, unix.NLM_F_REQUEST)
	b = append(b, make([]byte, 8)...) // sequence number and sender
	b = append(b, unix.AF_UNIX, 0, 0, 0)
	b = e.AppendUint32(b, 1<<32-1) // in any state
	b = e.AppendUint32(b, inode)
	b = e.AppendUint32(b, diagShowPeer)
	return e.AppendUint64(b, 1<<64-1) // with any cookie
}

func peerAnswer(b []byte, inode uint32) uint64 {
	e := binary.NativeEndian
	const head = netlinkHeader + diagMessage
	if len(b) < head || e.Uint16(b[4:]) != diagByFamily || e.Uint32(b[netlinkHeader+4:]) != inode {
		return 0
	}
	b = b[head:min(len(b), max(head, int(e.Uint32(b))))]
	for len(b) >= 8 { // minimum size of an attribute with a number
		length := int(e.Uint16(b))
		if e.Uint16(b[2:])&0x3fff == diagPeer && length >= 8 {
			return uint64(e.Uint32(b[4:]))
		}
		length = (max(length, 4) + 3) &^ 3
		b = b[min(length, len(b)):]
	}
	return 0
}

// ownSocket reports whether this process also has the peer of the socket open.
func (p *Prober) ownSocket(in *inspection, fd int) bool {
	st, err := in.stat(fd, 0)
	if err != nil {
		return false
	}
	peer := p.peerOf(st.Ino)
	if peer == 0 {
		return false
	}
	id := ID{Dev: st.Dev, Ino: peer} // All sockets belong to one device.
	return p.has(in, fd, id, func(int) bool { return true })
}
