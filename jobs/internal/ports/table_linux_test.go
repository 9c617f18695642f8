package ports

import (
	"reflect"
	"strings"
	"testing"
)

// tcp4 and tcp6 are written by the kernel of a little-endian machine.
const (
	tcp4 = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode                                                     
   0: 0100007F:0BB8 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 40123 1 ffff8880 100 0 0 10 0                     
   1: 00000000:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 777 1 ffff8881 100 0 0 10 5                      
   2: 0100007F:0BB8 0100007F:D431 01 00000000:00000000 00:00000000 00000000  1000        0 40200 1 ffff8882 20 4 30 10 -1                    
   3: 0100007F:D431 0100007F:0BB8 06 00000000:00000000 03:00000DFC 00000000     0        0 0 3 ffff8883                                      
`
	tcp6 = `  sl  local_address                         remote_address                        st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000000000000000000000000000:1F90 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 50001 1 ffff8884 100 0 0 10 0
   1: 00000000000000000000000001000000:1F91 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 50002 1 ffff8884 100 0 0 10 0
   2: 0000000000000000FFFF00000100007F:1F92 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 50003 1 ffff8884 100 0 0 10 0
   3: B80D0120000000000000000001000000:FFFF 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000 4294967294        0 4294967296 1 ffff8884 100 0 0 10 0
`
)

func TestTable(t *testing.T) {
	if !littleEndian {
		t.Skip("the rows are another machine's")
	}
	for _, c := range []struct {
		name, text string
		want       []Listener
	}{
		{"IPv4", tcp4, []Listener{listener("127.0.0.1", 3000, 1000, 40123), listener("0.0.0.0", 22, 0, 777)}},
		{"IPv6", tcp6, []Listener{
			listener("::", 8080, 1000, 50001), listener("::1", 8081, 1000, 50002), listener("127.0.0.1", 8082, 1000, 50003),
			listener("2001:db8::1", 65535, 4294967294, 4294967296),
		}},
		{"no IPv6", "", nil},
		{"the heading alone", strings.SplitAfter(tcp4, "\n")[0], nil},
		{"a row that was cut", strings.SplitAfter(tcp4, "\n")[1][:60], nil},
		{"no inode: no process has it open", strings.Replace(strings.SplitAfter(tcp4, "\n")[1], "40123", "0", 1), nil},
		{"an address that is none", "   0: 0100:0BB8 00000000:0000 0A 0:0 00:0 0 1000 0 40123 1", nil},
		{"an address of other letters", "   0: 0100007G:0BB8 00000000:0000 0A 0:0 00:0 0 1000 0 40123 1", nil},
		{"no port", "   0: 0100007F 00000000:0000 0A 0:0 00:0 0 1000 0 40123 1", nil},
		{"a port that is too high", "   0: 0100007F:10000 00000000:0000 0A 0:0 00:0 0 1000 0 40123 1", nil},
		{"a user that is none", "   0: 0100007F:0BB8 00000000:0000 0A 0:0 00:0 0 root 0 40123 1", nil},
	} {
		if got := parseTable([]byte(c.text)); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, not %+v", c.name, got, c.want)
		}
	}
}

func FuzzTable(f *testing.F) {
	f.Add([]byte(tcp4))
	f.Add([]byte(tcp6))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, l := range parseTable(text) {
			if l.Port < 1 || l.Port > 65535 || !l.Address.IsValid() || l.inode == 0 {
				t.Errorf("%+v", l)
			}
		}
	})
}
