// Package guard makes the connections of a confined process: its system calls that name an
// address wait until they have been checked against the network policy of the run, and are
// then made here, on a copy of the descriptor, with the address that was checked. The
// process cannot change it in between.
//
//	process: connect(fd, address) ──> Guard: read, check ──> connect(copy of fd, checked address)
//	process: asks a name server   ──> resolver of the Guard ──> netpolicy.Run.Lookup
//	process: close, exit_group    ──> Guard: count its bytes
//
// A connection that leads elsewhere (through a proxy) is connected to a relay of
// the Guard on the loopback.
//
// # Sources
//
// seccomp_unotify(2), pidfd_getfd(2), RFC 1035.
//
// # Limits
//
// Linux only, where package sandbox can supervise. Unix sockets cannot be
// connected or bound, and messages lose their control data, but for UDP's sizes.
// Bytes of UDP are counted only where each datagram has an address: the others are
// sent and received by calls that are not supervised, for speed.
package guard
