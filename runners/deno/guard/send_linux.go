//go:build amd64 || arm64

package guard

import (
	"encoding/binary"

	"coderunner/internal/netpolicy"
	"coderunner/internal/sandbox"

	"golang.org/x/sys/unix"
)

// Bounds of one message.
const (
	maxPieces  = 1024      // UIO_MAXIOV
	maxBytes   = 256 << 10 // of a stream, which may send less; datagrams are smaller
	maxControl = 1024
	maxSeveral = 64 // messages of one sendmmsg, which may send fewer
)

// sendFlags are the flags that are passed on.
const sendFlags = unix.MSG_DONTWAIT | unix.MSG_MORE | unix.MSG_CONFIRM | unix.MSG_EOR

// piece is a struct iovec.
type piece struct{ base, length uint64 }

// message is a struct msghdr.
type message struct {
	flags            int
	name, nameLen    uint64
	pieces           []piece
	control, ctlSize uint64
}

// memory is that of a process, as *sandbox.Call reads it.
type memory interface {
	Read(address uint64, b []byte) error
}

// readMessage reads a struct msghdr with its pieces.
func readMessage(c memory, pointer uint64, flags int) (m message, err error) {
	var b [56]byte
	if err := c.Read(pointer, b[:]); err != nil {
		return m, err
	}
	word := func(i int) uint64 { return binary.NativeEndian.Uint64(b[i:]) }
	m = message{flags: flags, name: word(0), nameLen: word(8), control: word(32), ctlSize: word(40)}
	count := word(24)
	if count > maxPieces || m.ctlSize > maxControl {
		return m, unix.EMSGSIZE
	}
	iov := make([]byte, count*16)
	if err := c.Read(word(16), iov); err != nil {
		return m, err
	}
	for ; len(iov) > 0; iov = iov[16:] {
		m.pieces = append(m.pieces, piece{binary.NativeEndian.Uint64(iov), binary.NativeEndian.Uint64(iov[8:])})
	}
	return m, nil
}

// data reads what a message has to send.
func (m message) data(c memory, stream bool) ([]byte, error) {
	var data []byte
	for _, p := range m.pieces {
		room := uint64(maxBytes - len(data))
		if p.length > room {
			if !stream {
				return nil, unix.EMSGSIZE
			}
			p.length = room
		}
		start := len(data)
		data = append(data, make([]byte, p.length)...)
		if err := c.Read(p.base, data[start:]); err != nil {
			return nil, err
		}
	}
	return data, nil
}

// controlData returns the control data that is passed on: how UDP cuts a message.
func (m message) controlData(c memory) ([]byte, error) {
	if m.ctlSize == 0 {
		return nil, nil
	}
	b := make([]byte, m.ctlSize)
	if err := c.Read(m.control, b); err != nil {
		return nil, err
	}
	list, err := unix.ParseSocketControlMessage(b)
	if err != nil {
		return nil, unix.EINVAL
	}
	for _, item := range list {
		if item.Header.Level == unix.SOL_UDP && item.Header.Type == unix.UDP_SEGMENT && len(item.Data) >= 2 {
			out := make([]byte, unix.CmsgSpace(2))
			binary.NativeEndian.PutUint64(out, uint64(unix.CmsgLen(2)))
			binary.NativeEndian.PutUint32(out[8:], unix.SOL_UDP)
			binary.NativeEndian.PutUint32(out[12:], unix.UDP_SEGMENT)
			copy(out[16:], item.Data[:2])
			return out, nil
		}
	}
	return nil, nil
}

// send sends one message.
func (g *Guard) send(run *netpolicy.Run, c *sandbox.Call, s socket, m message) (int, error) {
	if m.flags&(unix.MSG_OOB|unix.MSG_FASTOPEN|unix.MSG_ZEROCOPY) != 0 {
		return 0, unix.EOPNOTSUPP
	}
	inet := s.domain == unix.AF_INET || s.domain == unix.AF_INET6
	data, err := m.data(c, s.kind == unix.SOCK_STREAM)
	if err != nil {
		return 0, err
	}
	var to unix.Sockaddr
	var control []byte
	var counter *netpolicy.Counter
	switch {
	case s.domain == unix.AF_NETLINK:
		// It goes to the kernel in any case. With an address, the kernel would look at
		// our rights only.
	case !inet && (m.name != 0 || m.ctlSize != 0):
		return 0, unix.EACCES
	case inet && s.kind == unix.SOCK_DGRAM:
		if control, err = m.controlData(c); err != nil {
			return 0, err
		}
		if m.name != 0 {
			a, err := readAddress(c, m.name, m.nameLen)
			if err == nil && !a.inet() {
				err = unix.EAFNOSUPPORT
			}
			switch {
			case err != nil:
			case s.inside && a.leadsOut():
				err = unix.ENETUNREACH
			case !s.inside:
				data, counter, err = g.destination(run, a, data)
			}
			if err != nil {
				return 0, err
			}
			to = a.sockaddr(s)
		}
	}
	n, err := unix.SendmsgN(s.fd, data, control, to, m.flags&sendFlags|unix.MSG_NOSIGNAL)
	if err == nil && counter != nil {
		counter.Add(int64(n), 0)
	}
	return n, err
}

// destination checks where a datagram goes. What goes to a name server is a question
// about an allowed name, and nothing else.
func (g *Guard) destination(run *netpolicy.Run, to address, data []byte) ([]byte, *netpolicy.Counter, error) {
	if to.at.Port() == 53 && isNameServer(to.at.Addr()) {
		data, err := question(run, data)
		return data, nil, err
	}
	t, err := run.Check("udp", "", to.at)
	if err == nil && t.Relayed {
		err = unix.ENETUNREACH
	}
	return data, t.Counter, err
}

// sendSeveral is sendmmsg.
func (g *Guard) sendSeveral(run *netpolicy.Run, c *sandbox.Call, s socket) (int, error) {
	const size = 64 // of struct mmsghdr, whose length is behind its message
	sent := 0
	for ; sent < int(min(uint32(c.Args[2]), maxSeveral)); sent++ {
		at := c.Args[1] + uint64(sent)*size
		m, err := readMessage(c, at, int(c.Args[3]))
		n := 0
		if err == nil {
			n, err = g.send(run, c, s, m)
		}
		if err == nil {
			err = c.Write(at+56, binary.NativeEndian.AppendUint32(nil, uint32(n)))
		}
		if err != nil {
			if sent > 0 {
				break
			}
			return 0, err
		}
	}
	return sent, nil
}
