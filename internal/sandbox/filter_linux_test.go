//go:build linux && (amd64 || arm64)

package sandbox

import (
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// The filter must be one that the kernel takes, on both processors' tables:
// jumps inside it, and an answer at the end of every way.
func TestFilterProgram(t *testing.T) {
	for _, to := range []reach{nowhere, itself, anywhere} {
		network := to == anywhere
		p := filterProgram(4711, to, network, network, Spec{Attributes: network})
		for i, in := range p {
			if in.Code&7 == unix.BPF_JMP && (i+1+int(in.Jt) >= len(p) || i+1+int(in.Jf) >= len(p)) {
				t.Errorf("instruction %d jumps out", i)
			}
		}
		either := func(with, without uint32) uint32 {
			if network {
				return with
			}
			return without
		}
		own := func(with, without uint32) uint32 {
			if to == nowhere {
				return without
			}
			return with
		}
		strange := uint32(unix.SECCOMP_RET_ALLOW) // an option of a socket
		if to == itself {
			strange = errnoAnswer(unix.ENOPROTOOPT)
		}
		for _, c := range []struct {
			nr   uint32
			args [6]uint64
			want uint32
		}{
			{unix.SYS_READ, [6]uint64{}, unix.SECCOMP_RET_ALLOW},
			{unix.SYS_PTRACE, [6]uint64{}, errnoAnswer(unix.EPERM)},
			{unix.SYS_IO_URING_SETUP, [6]uint64{}, errnoAnswer(unix.ENOSYS)},
			{unix.SYS_TGKILL, [6]uint64{4711, 1, 9}, errnoAnswer(unix.EPERM)},
			{unix.SYS_TGKILL, [6]uint64{4711, 1, uint64(unix.SIGURG)}, unix.SECCOMP_RET_ALLOW},
			{unix.SYS_TGKILL, [6]uint64{4712, 1, 9}, unix.SECCOMP_RET_ALLOW},
			{unix.SYS_RT_TGSIGQUEUEINFO, [6]uint64{4711, 1, 9}, errnoAnswer(unix.EPERM)},
			{unix.SYS_PRLIMIT64, [6]uint64{0}, unix.SECCOMP_RET_ALLOW},
			{unix.SYS_PRLIMIT64, [6]uint64{4711}, errnoAnswer(unix.EPERM)},
			{unix.SYS_CLONE, [6]uint64{uint64(unix.SIGCHLD)}, map[bool]uint32{false: unix.SECCOMP_RET_ALLOW, true: errnoAnswer(unix.EPERM)}[network]},
			{unix.SYS_CLONE, [6]uint64{unix.CLONE_VM | unix.CLONE_THREAD | unix.CLONE_SIGHAND}, unix.SECCOMP_RET_ALLOW},
			{unix.SYS_CLONE3, [6]uint64{}, map[bool]uint32{false: unix.SECCOMP_RET_ALLOW, true: errnoAnswer(unix.ENOSYS)}[network]},
			{unix.SYS_PRCTL, [6]uint64{unix.PR_SET_PDEATHSIG}, map[bool]uint32{false: unix.SECCOMP_RET_ALLOW, true: errnoAnswer(unix.EPERM)}[network]},
			{unix.SYS_PRCTL, [6]uint64{unix.PR_SET_NAME}, unix.SECCOMP_RET_ALLOW},
			{unix.SYS_MMAP, [6]uint64{0, 0, 0, unix.MAP_PRIVATE | unix.MAP_ANON}, unix.SECCOMP_RET_ALLOW},
			{unix.SYS_MMAP, [6]uint64{0, 0, 0, unix.MAP_SHARED}, unix.SECCOMP_RET_ALLOW},
			{unix.SYS_MMAP, [6]uint64{0, 0, 0, unix.MAP_SHARED | unix.MAP_ANON | unix.MAP_NORESERVE}, map[bool]uint32{false: unix.SECCOMP_RET_ALLOW, true: errnoAnswer(unix.ENOMEM)}[network]},
			{unix.SYS_SOCKET, [6]uint64{unix.AF_INET, unix.SOCK_STREAM | unix.SOCK_CLOEXEC}, own(unix.SECCOMP_RET_ALLOW, errnoAnswer(unix.EACCES))},
			{unix.SYS_SOCKET, [6]uint64{unix.AF_INET6, unix.SOCK_DGRAM, unix.IPPROTO_UDP}, own(unix.SECCOMP_RET_ALLOW, errnoAnswer(unix.EACCES))},
			{unix.SYS_SOCKET, [6]uint64{unix.AF_UNIX, unix.SOCK_STREAM}, either(unix.SECCOMP_RET_ALLOW, errnoAnswer(unix.EACCES))},
			{unix.SYS_SOCKET, [6]uint64{unix.AF_NETLINK, unix.SOCK_RAW}, either(unix.SECCOMP_RET_ALLOW, errnoAnswer(unix.EACCES))},
			{unix.SYS_SOCKET, [6]uint64{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_AUDIT}, either(errnoAnswer(unix.EPROTONOSUPPORT), errnoAnswer(unix.EACCES))},
			{unix.SYS_SOCKET, [6]uint64{unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_SCTP}, own(errnoAnswer(unix.EPROTONOSUPPORT), errnoAnswer(unix.EACCES))},
			{unix.SYS_SOCKET, [6]uint64{unix.AF_INET, unix.SOCK_SEQPACKET}, own(errnoAnswer(unix.EPROTONOSUPPORT), errnoAnswer(unix.EACCES))},
			{unix.SYS_SOCKET, [6]uint64{unix.AF_VSOCK, unix.SOCK_STREAM}, either(errnoAnswer(unix.EAFNOSUPPORT), errnoAnswer(unix.EACCES))},
			{unix.SYS_SOCKET, [6]uint64{unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_TCP}, own(errnoAnswer(unix.EPROTONOSUPPORT), errnoAnswer(unix.EACCES))},
			{unix.SYS_SETSOCKOPT, [6]uint64{3, unix.IPPROTO_TCP, unix.TCP_NODELAY}, unix.SECCOMP_RET_ALLOW},
			{unix.SYS_SETSOCKOPT, [6]uint64{3, unix.IPPROTO_TCP, unix.TCP_ULP}, strange},
			{unix.SYS_SETSOCKOPT, [6]uint64{3, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY}, unix.SECCOMP_RET_ALLOW},
			{unix.SYS_SETSOCKOPT, [6]uint64{3, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER}, strange},
			{unix.SYS_SETSOCKOPT, [6]uint64{3, unix.SOL_UDP, 1}, strange},
			{unix.SYS_CONNECT, [6]uint64{}, either(unix.SECCOMP_RET_USER_NOTIF, unix.SECCOMP_RET_ALLOW)},
			{unix.SYS_SENDTO, [6]uint64{}, unix.SECCOMP_RET_ALLOW},
			{unix.SYS_SENDTO, [6]uint64{3, 0, 0, 0, 1 << 32}, either(unix.SECCOMP_RET_USER_NOTIF, unix.SECCOMP_RET_ALLOW)},
			{unix.SYS_SENDTO, [6]uint64{3, 0, 0, 0, 1}, either(unix.SECCOMP_RET_USER_NOTIF, unix.SECCOMP_RET_ALLOW)},
		} {
			if got := run(t, p, auditArch, c.nr, c.args); got != c.want {
				t.Errorf("network %v: call %d%v: %#x, want %#x", to, c.nr, c.args, got, c.want)
			}
		}
		if got := run(t, p, auditArch+1, unix.SYS_READ, [6]uint64{}); got != unix.SECCOMP_RET_KILL_PROCESS {
			t.Errorf("another processor's call: %#x", got)
		}
	}
}

// TestOnlyGo has the filter of a Go program allow what such programs do, and answer as older
// kernels do to what it does not know, and to what is forbidden to all as ever.
func TestOnlyGo(t *testing.T) {
	plain := filterProgram(4711, nowhere, true, false, Spec{OnlyGo: true, SharedMemory: true})
	writes := filterProgram(4711, nowhere, true, false, Spec{OnlyGo: true, SharedMemory: true, Attributes: true})
	no := errnoAnswer(unix.ENOSYS)
	for _, c := range []struct {
		nr           uint32
		args         [6]uint64
		want, writes uint32
	}{
		{nr: unix.SYS_READ, want: unix.SECCOMP_RET_ALLOW},
		{nr: unix.SYS_MEMFD_CREATE, want: unix.SECCOMP_RET_ALLOW},
		{nr: unix.SYS_CLONE, args: [6]uint64{unix.CLONE_VM | unix.CLONE_THREAD}, want: unix.SECCOMP_RET_ALLOW},
		{nr: unix.SYS_CLONE3, want: no},
		{nr: unix.SYS_PTRACE, want: errnoAnswer(unix.EPERM)},
		{nr: unix.SYS_SOCKET, want: errnoAnswer(unix.EACCES)},
		{nr: unix.SYS_SOCKETPAIR, want: no},
		{nr: unix.SYS_PIDFD_OPEN, want: no},
		{nr: 4000, want: no},
		{nr: unix.SYS_FCNTL, args: [6]uint64{3, unix.F_GETFL}, want: unix.SECCOMP_RET_ALLOW},
		{nr: unix.SYS_FCNTL, args: [6]uint64{3, unix.F_SETOWN}, want: errnoAnswer(unix.EPERM)},
		{nr: unix.SYS_FCNTL, args: [6]uint64{3, unix.F_SETLEASE}, want: errnoAnswer(unix.EPERM)},
		{nr: unix.SYS_IOCTL, args: [6]uint64{3, pagemapScan}, want: unix.SECCOMP_RET_ALLOW},
		{nr: unix.SYS_IOCTL, args: [6]uint64{3, unix.TIOCSTI}, want: errnoAnswer(unix.ENOTTY)},
		{nr: unix.SYS_FCHMOD, want: errnoAnswer(unix.EPERM), writes: unix.SECCOMP_RET_ALLOW},
		{nr: unix.SYS_UTIMENSAT, want: errnoAnswer(unix.EPERM), writes: unix.SECCOMP_RET_ALLOW},
	} {
		if got := run(t, plain, auditArch, c.nr, c.args); got != c.want {
			t.Errorf("call %d%v: %#x, want %#x", c.nr, c.args, got, c.want)
		}
		if c.writes == 0 {
			c.writes = c.want
		}
		if got := run(t, writes, auditArch, c.nr, c.args); got != c.writes {
			t.Errorf("call %d%v where files may be written: %#x, want %#x", c.nr, c.args, got, c.writes)
		}
	}
}

func errnoAnswer(e syscall.Errno) uint32 { return unix.SECCOMP_RET_ERRNO | uint32(e) }

// run interprets a filter.
func run(t *testing.T, p program, arch, nr uint32, args [6]uint64) uint32 {
	t.Helper()
	data := map[uint32]uint32{dataNumber: nr, dataArch: arch}
	for i, a := range args {
		data[dataArgs+8*uint32(i)], data[dataArgs+8*uint32(i)+4] = uint32(a), uint32(a>>32)
	}
	var acc uint32
	for pc := 0; pc < len(p); pc++ {
		in := p[pc]
		yes := false
		switch in.Code {
		case unix.BPF_LD | unix.BPF_W | unix.BPF_ABS:
			acc = data[in.K]
			continue
		case unix.BPF_RET | unix.BPF_K:
			return in.K
		case unix.BPF_ALU | unix.BPF_AND | unix.BPF_K:
			acc &= in.K
			continue
		case unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K:
			yes = acc&in.K != 0
		case unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K:
			yes = acc == in.K
		case unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K:
			yes = acc >= in.K
		default:
			t.Fatalf("instruction %d: code %#x", pc, in.Code)
		}
		if yes {
			pc += int(in.Jt)
		} else {
			pc += int(in.Jf)
		}
	}
	t.Fatal("the filter has no end")
	return 0
}
