package ports

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"net/netip"
	"strconv"
)

// stateListen is the kernel's TCP_LISTEN.
const stateListen = "0A"

// parseTable returns the listeners in /proc/net/tcp or tcp6. It skips rows that it cannot parse.
func parseTable(text []byte) (list []Listener) {
	for len(text) > 0 {
		row, rest, _ := bytes.Cut(text, []byte{'\n'})
		text = rest
		if l, ok := parseRow(row); ok {
			list = append(list, l)
		}
	}
	return list
}

// parseRow parses "sl local remote st tx:rx tr:when retrnsmt uid timeout inode …". Most rows are connections: they are
// rejected at their state.
func parseRow(row []byte) (l Listener, ok bool) {
	var fields [10][]byte
	for i := range fields {
		row = bytes.TrimLeft(row, " ")
		end := bytes.IndexByte(row, ' ')
		if end < 0 {
			end = len(row)
		}
		if fields[i], row = row[:end], row[end:]; len(fields[i]) == 0 {
			return l, false
		}
		if i == 3 && string(fields[3]) != stateListen {
			return l, false
		}
	}
	address, port, ok := bytes.Cut(fields[1], []byte{':'})
	if !ok {
		return l, false
	}
	n, err := strconv.ParseUint(string(port), 16, 16)
	if err != nil || n == 0 {
		return l, false
	}
	if l.Address, ok = parseAddress(address); !ok {
		return l, false
	}
	user, err := strconv.ParseUint(string(fields[7]), 10, 32)
	if err != nil {
		return l, false
	}
	l.inode, err = strconv.ParseUint(string(fields[9]), 10, 64)
	l.Port, l.User = int(n), int64(user)
	return l, err == nil && l.inode != 0 // 0 is the inode of a socket that no process has open any more
}

// parseAddress parses an address that is printed as numbers of 32 bits in the machine's byte order.
func parseAddress(text []byte) (netip.Addr, bool) {
	if len(text) != 8 && len(text) != 32 {
		return netip.Addr{}, false
	}
	var raw [16]byte
	n, err := hex.Decode(raw[:], text)
	if err != nil {
		return netip.Addr{}, false
	}
	if littleEndian {
		for i := 0; i < n; i += 4 {
			raw[i], raw[i+1], raw[i+2], raw[i+3] = raw[i+3], raw[i+2], raw[i+1], raw[i]
		}
	}
	a, ok := netip.AddrFromSlice(raw[:n])
	return a.Unmap(), ok
}

// littleEndian reports whether this machine is little-endian.
var littleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1
