package netstack

import (
	"encoding/binary"
	"math"
	"time"

	"coderunner/internal/machine/abi"
)

// maxOption bounds the value of an option, in bytes, maxOptions how many a
// socket remembers, each of which costs optionCost.
const (
	maxOption  = 256
	maxOptions = 64
	optionCost = maxOption + 64
)

// Sizes of struct timeval, two words of 64 bits, and struct linger.
const (
	timevalSize = 16
	lingerSize  = 8
)

// The options that join groups (netinet/in.h).
const (
	ipv6JoinGroup         = 20
	ipAddMembership       = 35
	ipAddSourceMembership = 39
	mcastJoinGroup        = 42
	mcastJoinSourceGroup  = 46
)

// SetOption is setsockopt(2). An option that is not known, or tunes what does
// not exist here, is remembered.
func (k *Socket) SetOption(level, name uint32, value []byte) abi.Errno {
	k.stack.mu.Lock()
	defer k.stack.mu.Unlock()
	if len(value) > maxOption {
		return abi.EINVAL
	}
	number := uint32(0)
	if len(value) >= 4 {
		number = binary.LittleEndian.Uint32(value)
	}
	if e, done := k.setKnownLocked(level, name, number, value); done {
		return e
	}
	return k.rememberLocked(level, name, value)
}

// setKnownLocked sets an option that has an effect here. It reports whether that is all
// there is to do. Number is the first word of the value.
func (k *Socket) setKnownLocked(level, name, number uint32, value []byte) (e abi.Errno, done bool) {
	on, o := number != 0, &k.opts
	switch [2]uint32{level, name} {
	case [2]uint32{abi.SOL_SOCKET, abi.SO_RCVTIMEO}, [2]uint32{abi.SOL_SOCKET, abi.SO_SNDTIMEO}:
		d, e := timeval(value)
		if e != abi.OK {
			return e, true
		}
		if name == abi.SO_RCVTIMEO {
			o.receive = d
		} else {
			o.send = d
		}
		return abi.OK, true
	case [2]uint32{abi.SOL_SOCKET, abi.SO_LINGER}:
		if len(value) < lingerSize {
			return abi.EINVAL, true
		}
		o.lingerOn, o.linger = on, binary.LittleEndian.Uint32(value[4:])
	case [2]uint32{abi.SOL_SOCKET, abi.SO_REUSEADDR}:
		o.reuseAddr = on
	case [2]uint32{abi.SOL_SOCKET, abi.SO_REUSEPORT}:
		o.reusePort = on
	case [2]uint32{abi.SOL_SOCKET, abi.SO_BROADCAST}:
		o.broadcast = on
	case [2]uint32{abi.SOL_SOCKET, abi.SO_RCVBUF}:
		o.limit = 2 * int(min(max(number, 1<<10), maxLimit/2)) // Linux doubles it
	case [2]uint32{abi.IPPROTO_IP, ipAddMembership}, [2]uint32{abi.IPPROTO_IP, ipAddSourceMembership},
		[2]uint32{abi.IPPROTO_IP, mcastJoinGroup}, [2]uint32{abi.IPPROTO_IP, mcastJoinSourceGroup},
		[2]uint32{abi.IPPROTO_IPV6, ipv6JoinGroup}, [2]uint32{abi.IPPROTO_IPV6, mcastJoinGroup}, [2]uint32{abi.IPPROTO_IPV6, mcastJoinSourceGroup}:
		k.refusal = noGroups
		return abi.EACCES, true
	case [2]uint32{abi.IPPROTO_IPV6, abi.IPV6_V6ONLY}:
		if k.Domain != abi.AF_INET6 {
			return abi.ENOPROTOOPT, true
		}
		if k.bound {
			return abi.EINVAL, true
		}
		o.v6only = on
	}
	return abi.OK, false
}

// rememberLocked keeps an option for getsockopt(2).
func (k *Socket) rememberLocked(level, name uint32, value []byte) abi.Errno {
	o := &k.opts
	switch {
	case level == abi.SOL_SOCKET && (name == abi.SO_TYPE || name == abi.SO_ERROR || name == abi.SO_DOMAIN || name == abi.SO_PROTOCOL || name == abi.SO_ACCEPTCONN):
		return abi.ENOPROTOOPT
	case level == abi.IPPROTO_TCP && (k.Domain == abi.AF_UNIX || k.Type != abi.SOCK_STREAM):
		return abi.EOPNOTSUPP
	case len(value) < 4 && !(level == abi.IPPROTO_TCP && name == tcpCongestion || level == abi.IPPROTO_IP && len(value) == 1):
		return abi.EINVAL
	case o.rest == nil:
		o.rest = map[[2]uint32][]byte{}
	}
	if _, old := o.rest[[2]uint32{level, name}]; !old && (len(o.rest) >= maxOptions || !k.stack.options.Reserve(optionCost)) {
		return abi.ENOBUFS
	}
	o.rest[[2]uint32{level, name}] = append([]byte(nil), value...)
	return abi.OK
}

const tcpCongestion = 13

// timeval decodes a struct timeval.
func timeval(b []byte) (time.Duration, abi.Errno) {
	if len(b) < timevalSize {
		return 0, abi.EINVAL
	}
	sec, usec := int64(binary.LittleEndian.Uint64(b)), int64(binary.LittleEndian.Uint64(b[8:]))
	if usec < 0 || usec >= 1e6 {
		return 0, abi.EINVAL
	}
	sec = min(max(sec, 0), math.MaxInt32)
	return time.Duration(sec)*time.Second + time.Duration(usec)*time.Microsecond, abi.OK
}

// Option is getsockopt(2).
func (k *Socket) Option(level, name uint32) ([]byte, abi.Errno) {
	k.stack.mu.Lock()
	defer k.stack.mu.Unlock()
	number := func(n uint32) ([]byte, abi.Errno) { return binary.LittleEndian.AppendUint32(nil, n), abi.OK }
	if level == abi.SOL_SOCKET {
		switch name {
		case abi.SO_TYPE:
			return number(k.Type)
		case abi.SO_DOMAIN:
			return number(k.Domain)
		case abi.SO_PROTOCOL:
			return number(k.Protocol)
		case abi.SO_ERROR:
			return number(uint32(k.takeErrorLocked()))
		case abi.SO_ACCEPTCONN:
			if k.state == listening {
				return number(1)
			}
			return number(0)
		case abi.SO_RCVBUF:
			return number(uint32(k.limitLocked()))
		case abi.SO_PEERCRED:
			return binary.LittleEndian.AppendUint32(nil, 1), abi.OK
		}
	}
	if v, ok := k.opts.rest[[2]uint32{level, name}]; ok {
		return v, abi.OK
	}
	switch {
	case level == abi.SOL_SOCKET && (name == abi.SO_RCVTIMEO || name == abi.SO_SNDTIMEO):
		return make([]byte, timevalSize), abi.OK
	case level == abi.SOL_SOCKET && name == abi.SO_LINGER:
		return make([]byte, lingerSize), abi.OK
	case level == abi.SOL_SOCKET && name == abi.SO_SNDBUF:
		return number(defaultLimit)
	case level == abi.IPPROTO_TCP && name == abi.TCP_MAXSEG:
		return number(1460)
	case level == abi.IPPROTO_TCP && name == tcpCongestion:
		return []byte("reno\x00"), abi.OK
	case level > 255 && level != 0x10000, k.Domain == abi.AF_UNIX && level != abi.SOL_SOCKET:
		return nil, abi.EOPNOTSUPP
	case name > 100:
		return nil, abi.ENOPROTOOPT
	}
	return number(0)
}
