package abi

import "net/netip"

// Numbers of socket(2), of musl.
const (
	AF_UNSPEC uint32 = 0
	AF_UNIX   uint32 = 1
	AF_INET   uint32 = 2
	AF_INET6  uint32 = 10

	SOCK_STREAM    uint32 = 1
	SOCK_DGRAM     uint32 = 2
	SOCK_RAW       uint32 = 3
	SOCK_SEQPACKET uint32 = 5
	SOCK_NONBLOCK  uint32 = 0o4000
	SOCK_CLOEXEC   uint32 = 0o2000000

	IPPROTO_IP   uint32 = 0
	IPPROTO_TCP  uint32 = 6
	IPPROTO_UDP  uint32 = 17
	IPPROTO_IPV6 uint32 = 41

	MSG_OOB          uint32 = 0x1
	MSG_PEEK         uint32 = 0x2
	MSG_CTRUNC       uint32 = 0x8
	MSG_TRUNC        uint32 = 0x20
	MSG_DONTWAIT     uint32 = 0x40
	MSG_WAITALL      uint32 = 0x100
	MSG_CMSG_CLOEXEC uint32 = 0x40000000

	SHUT_RD   uint32 = 0
	SHUT_WR   uint32 = 1
	SHUT_RDWR uint32 = 2
)

// Options of getsockopt(2) and setsockopt(2), by level.
const (
	SOL_SOCKET uint32 = 1

	SO_REUSEADDR  uint32 = 2
	SO_TYPE       uint32 = 3
	SO_ERROR      uint32 = 4
	SO_BROADCAST  uint32 = 6
	SO_SNDBUF     uint32 = 7
	SO_RCVBUF     uint32 = 8
	SO_LINGER     uint32 = 13
	SO_REUSEPORT  uint32 = 15
	SO_PEERCRED   uint32 = 17
	SO_ACCEPTCONN uint32 = 30
	SO_PROTOCOL   uint32 = 38
	SO_DOMAIN     uint32 = 39
	SO_RCVTIMEO   uint32 = 66
	SO_SNDTIMEO   uint32 = 67

	TCP_MAXSEG  uint32 = 2
	IPV6_V6ONLY uint32 = 26
	SCM_RIGHTS  uint32 = 1
)

// Sockaddr is the address of a socket.
type Sockaddr struct {
	Family uint32
	IP     netip.AddrPort // of AF_INET and AF_INET6; without a zone
	Flow   uint32         // of AF_INET6
	Scope  uint32
	Path   string // of AF_UNIX: "" for none; an abstract one begins with NUL
}
