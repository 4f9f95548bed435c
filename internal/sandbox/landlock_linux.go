//go:build linux && (amd64 || arm64)

package sandbox

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// What paths may be used for, as sets of Landlock's access rights. A file has
// some of them only.
const (
	reading   = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	executing = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE
	// writing leaves out devices and what starts programs.
	writing = reading | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO |
		unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_REFER | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	ofFiles = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_READ_FILE |
		unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
)

// system is what every program may read.
var system = []string{
	"/lib", "/lib32", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib",
	"/etc/ld.so.cache", "/etc/ld.so.preload", "/etc/ld.so.conf", "/etc/ld.so.conf.d",
	"/etc/localtime", "/etc/timezone", "/usr/share/zoneinfo", "/usr/share/locale", "/usr/share/icu",
	"/dev/random", "/dev/urandom", "/dev/zero",
	"/proc/meminfo", "/proc/cpuinfo", "/proc/stat", "/proc/loadavg", "/proc/uptime",
	"/proc/version", "/proc/sys/vm/overcommit_memory", "/proc/sys/kernel/osrelease",
	"/proc/filesystems", "/sys/devices/system/cpu",
	"/sys/kernel/mm/transparent_hugepage",
}

// network is what a program reads to find others on the network.
var network = []string{
	"/etc/resolv.conf", "/etc/host.conf", "/etc/nsswitch.conf", "/etc/gai.conf", "/etc/services", "/etc/protocols",
	"/etc/ssl", "/etc/pki", "/etc/ca-certificates", "/usr/share/ca-certificates", "/usr/local/share/ca-certificates",
}

// names is what a program reads to find addresses of names by itself. A supervised
// one asks its supervisor.
var names = []string{"/etc/hosts", "/run/systemd/resolve"}

// handled are the rights that an ABI of Landlock can take away.
func handled(k kernel, network bool) unix.LandlockRulesetAttr {
	const first = 1<<13 - 1
	a := unix.LandlockRulesetAttr{Handled_access_fs: first}
	for _, row := range []struct {
		abi   int
		right uint64
	}{{2, unix.LANDLOCK_ACCESS_FS_REFER}, {3, unix.LANDLOCK_ACCESS_FS_TRUNCATE}, {5, unix.LANDLOCK_ACCESS_FS_IOCTL_DEV}, {9, unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX}} {
		if k.abi >= row.abi {
			a.Handled_access_fs |= row.right
		}
	}
	if !network {
		if k.abi >= 4 {
			a.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
		}
		if k.abi >= 10 {
			a.Handled_access_net |= unix.LANDLOCK_ACCESS_NET_BIND_UDP | unix.LANDLOCK_ACCESS_NET_CONNECT_SEND_UDP
		}
	}
	if k.scopes {
		a.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	return a
}

// restrictFiles puts the thread under Landlock.
func restrictFiles(k kernel, s Spec) error {
	attr := handled(k, s.Network || s.Loopback && k.shared == nil)
	ruleset, err := createRuleset(&attr)
	if err != nil {
		return fmt.Errorf("make Landlock's rules: %w", err)
	}
	defer unix.Close(ruleset)
	rules := rules{fd: ruleset, handled: attr.Handled_access_fs}
	rules.add(reading, system...)
	rules.add(writing, "/dev/null")
	if s.Network {
		rules.add(reading, network...)
		if s.Supervise == nil || Supervised() != nil {
			rules.add(reading, names...)
		}
	}
	if s.Loopback && k.shared == nil {
		rules.add(reading, "/etc/hosts") // for localhost
	}
	for _, program := range s.Execute {
		rules.add(executing, program)
		rules.add(executing, interpreter(program))
	}
	rules.add(reading, s.Read...)
	rules.add(reading&ofFiles, s.Files...)
	rules.add(writing, s.Write...)
	if rules.err != nil {
		return rules.err
	}
	if err := restrictSelf(ruleset); err != nil {
		return fmt.Errorf("put Landlock's rules in force: %w", err)
	}
	return nil
}

// rules adds to a ruleset, up to the first error.
type rules struct {
	fd      int
	handled uint64
	err     error
}

func (r *rules) add(access uint64, paths ...string) {
	for _, path := range paths {
		if r.err == nil && path != "" {
			if err := r.addOne(access&r.handled, path); err != nil {
				r.err = fmt.Errorf("allow %s: %w", path, err)
			}
		}
	}
}

func (r *rules) addOne(access uint64, path string) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, fs.ErrPermission) {
		return nil // then the process cannot open it either
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		access &= ofFiles
	}
	return addPathRule(r.fd, &unix.LandlockPathBeneathAttr{Allowed_access: access, Parent_fd: int32(fd)})
}

// interpreters remembers answers of interpreter, by path.
var interpreters sync.Map

// interpreter returns the loader that the kernel starts for a program, "" if it
// needs none. A program that is replaced by one with another loader is not
// started any more.
func interpreter(program string) string {
	if known, ok := interpreters.Load(program); ok {
		return known.(string)
	}
	f, err := elf.Open(program)
	if err != nil {
		return ""
	}
	defer f.Close()
	name := ""
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP && p.Filesz < unix.PathMax {
			b, err := io.ReadAll(p.Open())
			if err == nil {
				name = strings.TrimRight(string(b), "\x00")
			}
		}
	}
	interpreters.Store(program, name)
	return name
}
