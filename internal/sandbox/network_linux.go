//go:build linux && (amd64 || arm64)

package sandbox

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// reach is where the sockets of a process lead.
type reach int

const (
	nowhere  reach = iota // it has none
	itself                // to a network of its own
	anywhere              // to the network of the system
)

// ownNetwork are the namespaces that a process without privileges leaves for a network of its own.
const ownNetwork = unix.CLONE_NEWUSER | unix.CLONE_NEWNET

// unshare has the process leave the network of the system for an empty one of its own.
// Who is not root may do so in a user namespace, where the process then has all
// capabilities: see disarm.
func (s *stopped) unshare(namespaces uintptr) error {
	if _, err := s.call(unix.SYS_UNSHARE, namespaces, 0, 0); err != nil {
		return fmt.Errorf("make a network namespace: %w", err)
	}
	return nil
}

// settle has a process that called unshare be the user that it was, and brings its loopback
// up. Identify writes its users.
func (s *stopped) settle(identify func(pid int) error) error {
	if err := identify(s.pid); err != nil {
		return err
	}
	return s.raiseLoopback()
}

// disarm drops the capabilities that a process has in a namespace, but those of this thread.
func (s *stopped) disarm() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return fmt.Errorf("read capabilities: %w", err)
	}
	keep := data[0].Permitted & kept
	data = [2]unix.CapUserData{{Effective: keep, Permitted: keep}}
	if err := s.write(packed(header, data)); err != nil {
		return err
	}
	if _, err := s.call(unix.SYS_CAPSET, s.place, s.place+8, 0); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	return nil
}

// raiseLoopback brings up the interface lo, which has its addresses then.
func (s *stopped) raiseLoopback() (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("bring the loopback up: %w", err)
		}
	}()
	request := struct { // ifreq
		Name  [16]byte
		Flags uint16
		_     [22]byte
	}{Flags: unix.IFF_UP}
	copy(request.Name[:], "lo")
	if err := s.write(packed(request)); err != nil {
		return err
	}
	fd, err := s.call(unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	if _, err := s.call(unix.SYS_IOCTL, uintptr(fd), unix.SIOCSIFFLAGS, s.place); err != nil {
		return err
	}
	_, err = s.call(unix.SYS_CLOSE, uintptr(fd), 0, 0)
	return err
}

// packed returns values as they are in memory.
func packed(values ...any) []byte {
	var b bytes.Buffer
	for _, v := range values {
		_ = binary.Write(&b, binary.LittleEndian, v) // as both processors are; a Buffer takes everything
	}
	return b.Bytes()
}

// users are the users and groups that this process knows, as lines of a user
// namespace that has the same.
var users = sync.OnceValue(func() (maps [2]string) {
	for i, name := range []string{"uid_map", "gid_map"} {
		text, err := os.ReadFile("/proc/self/" + name)
		if err != nil {
			continue
		}
		for lines := bytes.NewReader(text); ; {
			var inside, outside, n uint32
			if _, err := fmt.Fscan(lines, &inside, &outside, &n); err != nil {
				break
			}
			maps[i] += fmt.Sprintf("%d %d %d\n", inside, inside, n)
		}
	}
	return maps
})

// identify gives a process in a user namespace of its own the users and groups that
// there are, so that root still reads the files of others, and if that takes
// privileges, the one that it was.
func identify(pid int) error {
	set := func(name, text string) error {
		return os.WriteFile(fmt.Sprintf("/proc/%d/%s", pid, name), []byte(text), 0)
	}
	all := users()
	if set("uid_map", all[0]) == nil && set("gid_map", all[1]) == nil {
		return nil
	}
	for _, row := range [][2]string{
		{"uid_map", fmt.Sprintf("%d %[1]d 1\n", os.Geteuid())},
		{"setgroups", "deny"},
		{"gid_map", fmt.Sprintf("%d %[1]d 1\n", os.Getegid())},
	} {
		if err := set(row[0], row[1]); err != nil {
			return fmt.Errorf("name its user: %w", err)
		}
	}
	return nil
}

// options are the options that a socket of a network of its own may set, by level: those
// that runtimes set for programs. Others are filters and protocols of the kernel.
var options = []struct {
	level uint32
	names []uint32
}{
	{unix.SOL_SOCKET, []uint32{unix.SO_REUSEADDR, unix.SO_REUSEPORT, unix.SO_BROADCAST, unix.SO_KEEPALIVE, unix.SO_LINGER, unix.SO_SNDBUF, unix.SO_RCVBUF}},
	{unix.IPPROTO_TCP, []uint32{unix.TCP_NODELAY, unix.TCP_KEEPIDLE, unix.TCP_KEEPINTVL, unix.TCP_KEEPCNT}},
	{unix.IPPROTO_IP, []uint32{unix.IP_TTL, unix.IP_TOS, unix.IP_MULTICAST_TTL, unix.IP_MULTICAST_LOOP, unix.IP_RECVERR}},
	{unix.IPPROTO_IPV6, []uint32{unix.IPV6_V6ONLY, unix.IPV6_UNICAST_HOPS, unix.IPV6_MULTICAST_HOPS, unix.IPV6_MULTICAST_LOOP, unix.IPV6_RECVERR}},
}

// loopback adds which sockets a process has in a network of its own: those of TCP and
// UDP, with few options. A Unix socket would lead to files of the system.
func (p *program) loopback() {
	p.when(unix.SYS_SOCKET, 15)
	p.load(dataArgs)
	p.internet(unix.EACCES)
	var set program
	for _, o := range options {
		set.load(dataArgs + 8)
		set.when(o.level, uint8(2*len(o.names)+2))
		set.load(dataArgs + 16)
		for _, name := range o.names {
			set.when(name, 1)
			set.answer(unix.SECCOMP_RET_ALLOW)
		}
		set.fail(unix.ENOPROTOOPT)
	}
	set.fail(unix.ENOPROTOOPT)
	p.when(unix.SYS_SETSOCKOPT, uint8(len(set)))
	*p = append(*p, set...)
}
