// Package netstack is the network of one program: sockets, a loopback that exists only
// inside the run, and an interface to what lies outside.
//
// A [Stack] is shared by all processes of a program. Its loopback (127.0.0.0/8,
// ::1, the unspecified addresses and the names of unix(7)) is memory: what
// listens there is reached by sockets of the same Stack, by [Stack.Dial] for
// programs of the same run that are not the guest's, and by nothing else.
// Everything else goes through [Outside], which decides what may be reached;
// the package dials nothing by itself, and without an Outside there is nothing
// else.
//
// It knows no system call: whoever runs a program decodes those. Outcomes are abi.Errno
// values with Linux's meaning. No method waits except [Socket.Wait], [Socket.Read],
// [Socket.Write], [Stack.Resolve] and [Stack.Dial]: the others answer EAGAIN.
//
// # Loopback and host
//
// The sandbox's loopback comes first. A connection to a port of it on which
// nothing listens is offered to the Outside, so that a policy that names a
// loopback port of the host makes it reachable; if that is refused, the
// answer is ECONNREFUSED, as on any machine. A server that names its port is seen on
// the host's interface, too, where the Outside allows it, and then all datagrams of
// the socket to the outside leave from there.
//
// # Connections to the outside
//
// A connection to the outside is a connection of the loopback whose other end
// two goroutines of ours copy to and from a net.Conn, so that buffers, poll and
// half close are the same for both.
//
// # Limits
//
// Sockets and buffers are charged by Options.Reserve, and their number is bounded. No raw
// sockets, no multicast or broadcast; urgent data arrives inline, as with SO_OOBINLINE;
// TIME_WAIT does not exist; options that tune a protocol are remembered and do nothing.
//
// # Locking
//
// Stack.mu guards all sockets of a Stack. Waiters have a mutex of their own,
// locked under it. Neither is held while an Outside is called.
package netstack
