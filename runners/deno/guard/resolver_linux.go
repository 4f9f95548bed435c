//go:build amd64 || arm64

package guard

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	"coderunner/internal/netpolicy"

	"golang.org/x/net/dns/dnsmessage"
	"golang.org/x/sys/unix"
)

// Bounds of the resolver.
const (
	lookupTimeout  = 20 * time.Second
	maxQuestion    = 1 << 10
	maxAnswer      = 512 // bytes of a datagram (RFC 1035, 4.2.1)
	maxAnswerTCP   = 2 << 10
	resolverTTL    = 5 // seconds
	forwardTimeout = 5 * time.Second
)

// resolver answers what the process asks its name servers.
type resolver struct {
	at     netip.AddrPort
	packet net.PacketConn
	stream net.Listener
}

// NameServers returns the system's name servers, as the C library reads them.
func NameServers() (list []netip.Addr) {
	text, _ := os.ReadFile("/etc/resolv.conf")
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "nameserver" {
			if addr, err := netip.ParseAddr(f[1]); err == nil {
				list = append(list, addr.Unmap().WithZone(""))
			}
		}
	}
	if len(list) == 0 {
		list = append(list, netip.AddrFrom4([4]byte{127, 0, 0, 1}))
	}
	return list
}

func isNameServer(addr netip.Addr) bool {
	return slices.Contains(NameServers(), addr.Unmap().WithZone(""))
}

// startResolver starts the resolver of a process.
func startResolver(g *Guard) (*resolver, error) {
	p, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &resolver{at: p.LocalAddr().(*net.UDPAddr).AddrPort(), packet: p}
	if r.stream, err = net.Listen("tcp4", r.at.String()); err != nil {
		p.Close()
		return nil, err
	}
	g.work.Go(func() { r.packets(g) })
	g.work.Go(func() { r.streams(g) })
	return r, nil
}

func (r *resolver) close() {
	if r != nil {
		r.packet.Close()
		r.stream.Close()
	}
}

// packets answers datagrams.
func (r *resolver) packets(g *Guard) {
	for {
		b := make([]byte, maxQuestion)
		n, from, err := r.packet.ReadFrom(b)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue
		}
		g.inSlot(func() {
			if answer := answerTo(g, b[:n], maxAnswer); answer != nil {
				_, _ = r.packet.WriteTo(answer, from)
			}
		})
	}
}

// streams answers over TCP, one question a connection.
func (r *resolver) streams(g *Guard) {
	for {
		c, err := r.stream.Accept()
		if err != nil {
			return
		}
		g.inSlot(func() {
			defer c.Close()
			_ = c.SetDeadline(time.Now().Add(lookupTimeout))
			var size [2]byte
			if _, err := io.ReadFull(c, size[:]); err != nil || binary.BigEndian.Uint16(size[:]) > maxQuestion {
				return
			}
			b := make([]byte, binary.BigEndian.Uint16(size[:]))
			if _, err := io.ReadFull(c, b); err != nil {
				return
			}
			if answer := answerTo(g, b, maxAnswerTCP); answer != nil {
				_, _ = c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))), answer...))
			}
		})
	}
}

// inSlot calls f in the background, unless too many do something already.
func (g *Guard) inSlot(f func()) {
	select {
	case g.slots <- struct{}{}:
		g.work.Go(func() {
			defer func() { <-g.slots }()
			f()
		})
	default:
	}
}

// parseQuestion parses a packet with one question.
func parseQuestion(b []byte) (id uint16, q dnsmessage.Question, err error) {
	var p dnsmessage.Parser
	h, err := p.Start(b)
	if err != nil || h.Response {
		return 0, q, unix.EINVAL
	}
	list, err := p.AllQuestions()
	if err != nil || len(list) != 1 || list[0].Class != dnsmessage.ClassINET {
		return 0, q, unix.EINVAL
	}
	return h.ID, list[0], nil
}

// question checks a packet to a name server, and returns one that asks the same
// and says nothing else.
func question(run *netpolicy.Run, b []byte) ([]byte, error) {
	id, q, err := parseQuestion(b)
	if err == nil {
		err = run.CheckName(q.Name.String())
	}
	if err == nil && !run.Asks() {
		err = unix.EACCES
	}
	if err != nil {
		return nil, err
	}
	m := dnsmessage.Message{Header: dnsmessage.Header{ID: id, RecursionDesired: true}, Questions: []dnsmessage.Question{q}}
	return m.Pack()
}

// answerTo answers a question by what the run may look up, with as many addresses
// as size bytes have room for; nil is no answer.
func answerTo(g *Guard, b []byte, size int) []byte {
	id, q, err := parseQuestion(b)
	run := g.run.Load()
	if err != nil || run == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(g.ctx, lookupTimeout)
	defer cancel()
	m := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: id, Response: true, RecursionDesired: true, RecursionAvailable: true},
		Questions: []dnsmessage.Question{q},
	}
	if q.Type != dnsmessage.TypeA && q.Type != dnsmessage.TypeAAAA {
		if answer := forward(ctx, run, b); answer != nil {
			return answer
		}
		m.RCode = dnsmessage.RCodeServerFailure
	} else {
		addrs, err := run.Lookup(ctx, strings.TrimSuffix(q.Name.String(), "."))
		m.RCode = codeOf(err)
		// What is before the addresses, and each with a pointer to the name.
		most := (size - 12 - (int(q.Name.Length) + 1 + 4)) / (2 + 10 + 16)
		for _, addr := range addrs {
			if len(m.Answers) == most {
				break
			}
			h := dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class, TTL: resolverTTL}
			switch {
			case q.Type == dnsmessage.TypeA && addr.Is4():
				m.Answers = append(m.Answers, dnsmessage.Resource{Header: h, Body: &dnsmessage.AResource{A: addr.As4()}})
			case q.Type == dnsmessage.TypeAAAA && addr.Is6():
				m.Answers = append(m.Answers, dnsmessage.Resource{Header: h, Body: &dnsmessage.AAAAResource{AAAA: addr.As16()}})
			}
		}
	}
	answer, _ := m.Pack() // nil if the name cannot be packed
	return answer
}

// codeOf returns what an error of a lookup is in an answer.
func codeOf(err error) dnsmessage.RCode {
	var dns *net.DNSError
	var refused *netpolicy.Refused
	switch {
	case err == nil:
		return dnsmessage.RCodeSuccess
	case errors.As(err, &dns) && dns.IsNotFound, errors.As(err, &refused):
		return dnsmessage.RCodeNameError
	}
	return dnsmessage.RCodeServerFailure
}

// forward asks the system's name server for what is no address.
func forward(ctx context.Context, run *netpolicy.Run, b []byte) []byte {
	b, err := question(run, b)
	if err != nil {
		return nil
	}
	d := net.Dialer{Timeout: forwardTimeout}
	c, err := d.DialContext(ctx, "udp", netip.AddrPortFrom(NameServers()[0], 53).String())
	if err != nil {
		return nil
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(forwardTimeout))
	answer := make([]byte, 4096)
	if _, err := c.Write(b); err != nil {
		return nil
	}
	n, err := c.Read(answer)
	if err != nil || n < 2 || answer[0] != b[0] || answer[1] != b[1] {
		return nil
	}
	return answer[:n]
}
