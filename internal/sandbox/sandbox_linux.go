//go:build linux && (amd64 || arm64)

package sandbox

import (
	"errors"
	"fmt"
	"math"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// signalErratum is the bit for the mistake that threads of one process could
// not signal each other any more, which Go's scheduler does all the time.
const signalErratum = 1 << 1

// said is what the kernel says of itself.
var said = sync.OnceValue(func() (k kernel) {
	k.abi = landlockQuery(unix.LANDLOCK_CREATE_RULESET_VERSION)
	k.scopes = k.abi >= 6 && landlockQuery(unix.LANDLOCK_CREATE_RULESET_ERRATA)&signalErratum != 0
	if k.filter = canFilter(); k.filter {
		k.flags = filterFlags()
	} else {
		k.shared = errors.New("the kernel has no filter of system calls")
	}
	// What this program was started with open is not for those that it starts. All else that Go
	// opens is marked so.
	_ = unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC) // since Linux 5.11
	// Package os finds out, the first time it starts a process, whether there
	// are descriptors of processes. On a confined thread it would say no.
	if p, err := os.FindProcess(os.Getpid()); err == nil {
		_ = p.Release()
	}
	return k
})

// probe is said with what a trial start shows. The network that this has made waits for a process.
var probe = sync.OnceValue(func() kernel {
	k := said()
	if k.filter {
		k.shared, k.untraced = tryInject(k.flags, true)
	}
	return k
})

// Probe returns what the kernel can do. The first call tries it.
func Probe() Level { return level(probe()) }

// ABI returns Level.ABI without trying anything.
func ABI() int { return said().abi }

// supervision is what probe is for Spec.Supervise: the flags to install filters with,
// and why it cannot be called.
var supervision = sync.OnceValues(func() (flags uintptr, err error) {
	k := probe()
	if err := k.injects(); err != nil {
		return 0, err
	}
	flags = k.flags | unix.SECCOMP_FILTER_FLAG_NEW_LISTENER
	const killable = unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV // since Linux 5.19
	if _, err = tryInject(flags|killable, false); err == nil {
		return flags | killable, nil
	}
	_, err = tryInject(flags, false)
	return flags, err
})

// Supervised returns why Spec.Supervise is not called for processes with a network,
// nil if it is. The first call tries it.
func Supervised() error {
	_, err := supervision()
	return err
}

// OwnNetwork returns why Spec.Loopback has no effect, nil if it has. The first call
// tries it.
func OwnNetwork() error { return probe().shared }

// Start calls start on an OS thread of its own that is confined as far as the
// kernel can. Start starts one process, by exec.Cmd or os.StartProcess, with
// SysProcAttr.Ptrace and first inherited files as it is told, and returns its number; nothing of it has run
// when Start returns an error, and it is being killed: the caller reaps it. It
// must not take long. If all is well the thread lives until end is closed: the
// kernel takes it for the parent of the process.
func Start(s Spec, end <-chan struct{}, start func(trace bool, files []*os.File) (pid int, err error)) error {
	return begin(s, nil, end, start)
}

// begin is Start, and StartZygote if there is a zygote.
func begin(s Spec, zygote *Zygote, end <-chan struct{}, start func(trace bool, files []*os.File) (pid int, err error)) error {
	result, asked, answered := make(chan error), make(chan func() error), make(chan error)
	// A confined thread can neither read nor write in /proc.
	unconfined := func(f func() error) error {
		asked <- f
		return <-answered
	}
	zygote.outside(unconfined)
	var own *namespace
	if s.Loopback && !s.Network && OwnNetwork() == nil {
		own = takeNamespace()
	}
	go onThread(func() {
		err := startHere(s, zygote, own, start, func(pid int) error {
			return unconfined(func() error {
				err := identify(pid)
				if err == nil && !s.Network {
					own = openNamespace(pid) // the next process makes one
				}
				return err
			})
		})
		result <- err
		if err == nil {
			zygote.serve(end)
		}
		if err == nil {
			own.giveBack()
		} else if own != nil {
			own.close()
		}
	})
	for {
		select {
		case f := <-asked:
			answered <- f()
		case err := <-result:
			if zygote != nil {
				zygote.has(own)
			}
			return err
		}
	}
}

// startHere is Start for a thread that ends with the process.
func startHere(s Spec, zygote *Zygote, own *namespace, start func(trace bool, files []*os.File) (pid int, err error), identify func(pid int) error) error {
	k := probe()
	if err := restrict(k, s); err != nil {
		return fmt.Errorf("confine: %w", err)
	}
	trace := k.filter && k.untraced == nil
	to := nowhere
	if s.Network {
		to = anywhere
	}
	if k.filter && !trace {
		if err := installFilter(filterProgram(os.Getpid(), to, false, false, s), k.flags); err != nil {
			return fmt.Errorf("confine: filter system calls: %w", err)
		}
	}
	var files []*os.File
	if own != nil {
		files = own.files[:2]
	}
	first := 3 + len(files) // the number of the next
	pid, err := start(trace, zygote.needs(files))
	if err == nil && !trace && zygote != nil {
		err = CanFork()
	}
	if err != nil || !trace {
		return err
	}
	if err := confineStarted(k, s, zygote, pid, to, own != nil, first, identify); err != nil {
		_ = unix.Kill(pid, unix.SIGKILL)
		return fmt.Errorf("confine process %d: %w", pid, err)
	}
	return nil
}

// confineStarted puts a process that was started traced under its filter, and lets it
// go.
func confineStarted(k kernel, s Spec, zygote *Zygote, pid int, to reach, enter bool, first int, identify func(pid int) error) error {
	process, err := hold(pid)
	if err != nil {
		return err
	}
	supervise := s.Network && s.Supervise != nil && Supervised() == nil
	// Where there are too many namespaces it has no network at all, or that of the system.
	switch {
	case enter:
		err = process.enter()
		to = itself
	case s.Loopback && k.shared == nil && (to == nowhere || supervise):
		if process.unshare(ownNetwork) == nil {
			err = process.settle(identify)
			to, enter = max(to, itself), true
		}
	}
	if err != nil {
		return err
	}
	if enter && zygote == nil { // a zygote's forks may need another network
		if err := process.disarm(); err != nil {
			return err
		}
	}
	if zygote.kept() {
		return zygote.restore(process, first, to, enter)
	}
	for _, r := range s.Large {
		_, _ = process.call(unix.SYS_MADVISE, r[0], r[1], unix.MADV_HUGEPAGE) // else it is slower
	}
	if zygote != nil { // its forks come under the filter
		zygote.began(pid, process.at.pc(), to, enter)
		return errors.Join(process.release(), unix.PtraceDetach(pid))
	}
	flags := k.flags
	if supervise {
		flags, _ = supervision()
	}
	if s.OnlyGo {
		flags |= unix.SECCOMP_FILTER_FLAG_LOG
	}
	calls, err := process.filter(filterProgram(os.Getpid(), to, true, supervise, s), flags)
	if err != nil {
		return err
	}
	err = process.release()
	if err == nil {
		err = unix.PtraceDetach(pid)
	}
	switch {
	case calls != nil && err != nil:
		calls.Close()
	case calls != nil:
		s.Supervise(calls)
	}
	return err
}

// restrict confines the calling thread, which cannot be undone, by all but
// filters.
func restrict(k kernel, s Spec) error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no new privileges: %w", err)
	}
	if err := dropCapabilities(); err != nil {
		return err
	}
	if k.abi > 0 {
		return restrictFiles(k, s)
	}
	return nil
}

// kept are the capabilities that stay: those by which root reads its users'
// files, since a policy may name such files.
const kept = 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_DAC_READ_SEARCH | 1<<unix.CAP_FOWNER

// dropCapabilities takes root's powers away. After no-new-privileges a program
// started as root cannot get them back.
func dropCapabilities() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return fmt.Errorf("read capabilities: %w", err)
	}
	if data[0].Permitted|data[1].Permitted == 0 {
		return nil
	}
	keep := data[0].Permitted & kept
	data[0] = unix.CapUserData{Effective: keep, Permitted: keep}
	data[1] = unix.CapUserData{}
	if err := unix.Capset(&header, &data[0]); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	return nil
}
