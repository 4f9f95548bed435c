//go:build amd64 || arm64

package guard

import (
	"bytes"
	"context"
	"encoding/binary"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"coderunner/internal/netpolicy"

	"golang.org/x/net/dns/dnsmessage"
	"golang.org/x/sys/unix"
)

// Where the bytes of a test are in the memory of a process.
const base = 0x1000

// image is the memory of a process that has nothing else.
type image []byte

func (m image) Read(address uint64, b []byte) error {
	if address < base || address-base > uint64(len(m)) || uint64(len(b)) > uint64(len(m))-(address-base) {
		return unix.EFAULT
	}
	copy(b, m[address-base:])
	return nil
}

func words(list ...uint64) (b []byte) {
	for _, w := range list {
		b = binary.NativeEndian.AppendUint64(b, w)
	}
	return b
}

func sockaddr(family uint16, rest ...byte) []byte {
	return append(binary.NativeEndian.AppendUint16(nil, family), rest...)
}

// FuzzAddress reads addresses: what is connected to is what was checked.
func FuzzAddress(f *testing.F) {
	v4 := sockaddr(unix.AF_INET, 0x1f, 0x90, 10, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0)
	v6 := sockaddr(unix.AF_INET6, append([]byte{0, 53, 0, 0, 0, 0, 0xfe, 0x80}, make([]byte, 18)...)...)
	for _, b := range [][]byte{v4, v4[:15], v6, v6[:24], v6[:23], sockaddr(unix.AF_UNSPEC), sockaddr(unix.AF_UNIX, []byte("/run/x")...), sockaddr(unix.AF_NETLINK)} {
		f.Add(b, uint64(len(b)))
	}
	f.Add(v4, uint64(1<<32|16))
	f.Add(v4, uint64(1<<32-1))
	f.Fuzz(func(t *testing.T, b []byte, length uint64) {
		a, err := readAddress(image(b), base, length)
		if err != nil || !a.inet() {
			return
		}
		for _, domain := range []int{unix.AF_INET, unix.AF_INET6} {
			var ip netip.Addr
			var port int
			switch sa := a.sockaddr(socket{domain: domain}).(type) {
			case *unix.SockaddrInet4:
				ip, port = netip.AddrFrom4(sa.Addr), sa.Port
			case *unix.SockaddrInet6:
				ip, port = netip.AddrFrom16(sa.Addr), sa.Port
			}
			at := a.at
			if domain == unix.AF_INET6 && a.family == unix.AF_INET {
				at = netip.AddrPortFrom(netip.AddrFrom16(at.Addr().As16()), at.Port())
			}
			if ip != at.Addr() || port != int(at.Port()) || port != int(b[2])<<8|int(b[3]) {
				t.Errorf("%x: connects to %s port %d, checked %s", b, ip, port, a.at)
			}
		}
	})
}

// FuzzMessage reads a struct msghdr and what it points to. The words of its seeds
// are name, its length, pieces, their number, control data, its length, flags.
func FuzzMessage(f *testing.F) {
	const behind = base + 56
	segment := words(uint64(unix.CmsgLen(2)), unix.SOL_UDP|unix.UDP_SEGMENT<<32, 1200)
	f.Add(append(words(0, 0, behind, 2, 0, 0, 0, behind, 16, behind, 8), "datadata"...))
	f.Add(append(words(0, 0, behind, 0, behind, uint64(len(segment)), 0), segment...))
	f.Add(append(words(0, 0, behind, 0, behind, uint64(len(segment)), 0), words(1<<63)...))
	f.Add(words(0, 0, behind, 1, 0, 0, 0, behind, 1<<63))
	f.Add(words(0, 0, behind, 1<<60, 0, 0, 0))
	f.Add(words(0, 0, 0, 0, behind, 1<<60, 0))
	f.Add(words(1<<64-8, 1<<64-1, 1<<64-16, 1024, 1<<64-8, 1024, 0))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := readMessage(image(b), base, 0)
		if err != nil {
			return
		}
		var total uint64
		for _, p := range m.pieces {
			total = min(total+min(p.length, maxBytes+1), maxBytes+1)
		}
		for _, stream := range []bool{false, true} {
			data, err := m.data(image(b), stream)
			switch {
			case err == unix.EMSGSIZE && (stream || total <= maxBytes):
				t.Errorf("%d bytes are too many (stream: %v)", total, stream)
			case err == nil && uint64(len(data)) != min(total, maxBytes), err == nil && !stream && total > maxBytes:
				t.Errorf("%d bytes of %d (stream: %v)", len(data), total, stream)
			}
		}
		control, err := m.controlData(image(b))
		if err != nil || control == nil {
			return
		}
		list, err := unix.ParseSocketControlMessage(control)
		if err != nil || len(list) != 1 || list[0].Header.Level != unix.SOL_UDP || list[0].Header.Type != unix.UDP_SEGMENT || len(list[0].Data) != 2 {
			t.Errorf("control data %x: %v, %v", control, list, err)
		}
	})
}

// asked returns seeds: packets to a name server.
func asked(f *testing.F) (list [][]byte) {
	long := strings.Repeat(strings.Repeat("a", 60)+".", 3) + "example.com."
	for _, name := range []string{"api.example.com.", "API.Example.COM.", "evil.com.", ".", long} {
		for _, kind := range []dnsmessage.Type{dnsmessage.TypeA, dnsmessage.TypeAAAA, dnsmessage.TypeTXT} {
			q := dnsmessage.Question{Name: dnsmessage.MustNewName(name), Type: kind, Class: dnsmessage.ClassINET}
			opt := dnsmessage.Resource{
				Header: dnsmessage.ResourceHeader{Name: dnsmessage.MustNewName("."), Type: dnsmessage.TypeOPT, Class: 4096},
				Body:   &dnsmessage.OPTResource{Options: []dnsmessage.Option{{Code: 12, Data: []byte("what the program hides")}}},
			}
			m := dnsmessage.Message{Header: dnsmessage.Header{ID: 0xabcd, RecursionDesired: true}, Questions: []dnsmessage.Question{q}, Additionals: []dnsmessage.Resource{opt}}
			b, err := m.Pack()
			if err != nil {
				f.Fatal(err)
			}
			list = append(list, b, append(b, "behind"...), b[:len(b)-3])
		}
	}
	header := []byte{1, 2, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0}
	return append(list, append(header, 0xc0, 12, 0, 1, 0, 1), append(header, "\x03a.b\x07example\x03com\x00\x00\x01\x00\x01"...))
}

// below reports whether the labels of a name, as they are sent, end in example.com.
func below(packet []byte) bool {
	var labels []string
	for b := packet[12:]; b[0] != 0; b = b[1+b[0]:] {
		labels = append(labels, strings.ToLower(string(b[1:1+b[0]])))
	}
	return len(labels) >= 2 && slices.Equal(labels[len(labels)-2:], []string{"example", "com"})
}

func newRun(f *testing.F, addrs []netip.Addr) *netpolicy.Run {
	p, err := netpolicy.Parse(false, []string{"*.example.com"}, false, nil)
	if err != nil {
		f.Fatal(err)
	}
	return p.NewRun(netpolicy.Options{LookupIP: func(context.Context, string) ([]netip.Addr, error) { return slices.Clone(addrs), nil }})
}

// FuzzQuestion lets questions about allowed names pass, and nothing else with them.
func FuzzQuestion(f *testing.F) {
	for _, b := range asked(f) {
		f.Add(b)
	}
	run := newRun(f, nil)
	f.Fuzz(func(t *testing.T, b []byte) {
		out, err := question(run, b)
		if err != nil {
			return
		}
		id, q, err := parseQuestion(out)
		if err != nil {
			t.Fatalf("%x becomes %x: %v", b, out, err)
		}
		id0, q0, _ := parseQuestion(b)
		if id != id0 || q != q0 || !below(out) || len(out) != 12+int(q.Name.Length)+1+4 || out[2] != 1 || !bytes.Equal(out[3:12], []byte{0, 0, 1, 0, 0, 0, 0, 0, 0}) {
			t.Errorf("%x becomes %x", b, out)
		}
	})
}

// FuzzAnswer answers questions about addresses, with what fits.
func FuzzAnswer(f *testing.F) {
	for _, b := range asked(f) {
		f.Add(b)
	}
	var addrs []netip.Addr
	for i := range byte(30) {
		addrs = append(addrs, netip.AddrFrom4([4]byte{192, 0, 2, i}))
	}
	for i := range byte(30) {
		addrs = append(addrs, netip.AddrFrom16([16]byte{0x20, 0x01, 0x0d, 0xb8, 15: i}))
	}
	g := &Guard{ctx: context.Background()}
	g.SetRun(newRun(f, addrs))
	f.Fuzz(func(t *testing.T, b []byte) {
		_, q, err := parseQuestion(b)
		if err == nil && q.Type != dnsmessage.TypeA && q.Type != dnsmessage.TypeAAAA {
			return // would be forwarded
		}
		for _, size := range []int{maxAnswer, maxAnswerTCP} {
			out := answerTo(g, b, size)
			if out == nil {
				continue
			}
			var m dnsmessage.Message
			if err := m.Unpack(out); err != nil || len(out) > size || !bytes.Equal(out[:2], b[:2]) || len(m.Questions) != 1 || m.Questions[0] != q {
				t.Fatalf("%x is answered with %d bytes: %x: %v", b, len(out), out, err)
			}
			if len(m.Answers) == 0 == (m.RCode == dnsmessage.RCodeSuccess) || len(m.Answers) > 0 && !below(out) {
				t.Errorf("%s: %d answers, %s", q.Name, len(m.Answers), m.RCode)
			}
			for _, a := range m.Answers {
				if a.Header.Type != q.Type {
					t.Errorf("%s %s: answered with %s", q.Name, q.Type, a.Header.Type)
				}
			}
		}
	})
}
