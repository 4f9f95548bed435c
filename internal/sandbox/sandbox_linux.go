//go:build linux && (amd64 || arm64)

package sandbox

import (
	"fmt"
	"os"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"
)

// kernel is what this kernel offers.
type kernel struct {
	abi    int
	scopes bool // Landlock's scopes, without a fault that matters to us
	filter bool
	flags  uintptr // to install filters with
	seal   error   // why processes cannot be sealed; nil if they can
}

// signalErratum is the bit for the mistake that threads of one process could
// not signal each other any more, which Go's scheduler does all the time.
const signalErratum = 1 << 1

var probe = sync.OnceValue(func() kernel {
	var k kernel
	k.abi = landlockQuery(unix.LANDLOCK_CREATE_RULESET_VERSION)
	k.scopes = k.abi >= 6 && landlockQuery(unix.LANDLOCK_CREATE_RULESET_ERRATA)&signalErratum != 0
	if k.filter = canFilter(); k.filter {
		k.flags = filterFlags()
		k.seal = trySeal(k.flags)
	}
	// Package os finds out, the first time it starts a process, whether there
	// are descriptors of processes. On a confined thread it would say no.
	if p, err := os.FindProcess(os.Getpid()); err == nil {
		_ = p.Release()
	}
	return k
})

// Probe says what the kernel can do. It looks once.
func Probe() Level {
	k := probe()
	return level(k)
}

// Start calls start on an OS thread of its own that is confined as far as the
// kernel can. Start starts one process, by exec.Cmd or os.StartProcess, with
// SysProcAttr.Ptrace as it is told, and gives its number; nothing of it has run
// when Start returns an error, and it is being killed: the caller reaps it. It
// must not take long. If all is well the thread lives until end is closed: the
// kernel takes it for the parent of the process.
func Start(s Spec, end <-chan struct{}, start func(trace bool) (pid int, err error)) error {
	result := make(chan error)
	go onThread(func() {
		err := startHere(s, start)
		result <- err
		if err == nil {
			<-end
		}
	})
	return <-result
}

// startHere is Start for a thread that ends with the process.
func startHere(s Spec, start func(trace bool) (pid int, err error)) error {
	k := probe()
	if err := restrict(k, s); err != nil {
		return fmt.Errorf("confine: %w", err)
	}
	trace := k.filter && k.seal == nil
	filter := filterProgram(os.Getpid(), s.Network, trace)
	if k.filter && !trace {
		if err := installFilter(filter, k.flags); err != nil {
			return fmt.Errorf("confine: filter system calls: %w", err)
		}
	}
	pid, err := start(trace)
	if err != nil || !trace {
		return err
	}
	if err = seal(pid, filter, k.flags); err == nil {
		err = unix.PtraceDetach(pid)
	}
	if err != nil {
		_ = unix.Kill(pid, unix.SIGKILL)
		return fmt.Errorf("confine process %d: %w", pid, err)
	}
	return nil
}

// onThread calls f on a thread that ends with f. It is never the process's
// first one, which cannot end, and whose confinement the kernel would take for
// that of the whole process.
func onThread(f func()) {
	runtime.LockOSThread() // never unlocked: nothing else may run here
	if unix.Gettid() != os.Getpid() {
		f()
		return
	}
	begun := make(chan struct{})
	go onThread(func() { close(begun); f() })
	<-begun
	runtime.UnlockOSThread() // nothing was done to it
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

// level judges what a kernel offers.
func level(k kernel) Level {
	l := Level{Name: Full, ABI: k.abi, InForce: inForce(k)}
	if k.abi == 0 && !k.filter {
		l.Name = None
	}
	if k.abi == 0 {
		l = l.Without("the kernel has no Landlock, so files are guarded by Deno alone")
	}
	if k.abi > 0 && k.abi < 3 {
		l = l.Without("the kernel's Landlock does not guard files against truncation")
	}
	if !k.filter {
		l = l.Without("the kernel has no filter of system calls, so other processes and sockets but TCP's are guarded by Deno alone")
		if k.abi < 4 {
			l = l.Without("the kernel's Landlock does not guard the network")
		}
	}
	if k.filter && k.seal != nil {
		l = l.Without(fmt.Sprintf("this system does not let us trace what we start (%v), so making more processes is forbidden by Deno alone", k.seal))
	}
	if k.abi > 0 && !k.scopes {
		l = l.Without("the kernel's Landlock does not guard other processes against signals")
	}
	return l
}

// inForce says what a kernel does.
func inForce(k kernel) []string {
	list := []string{"no new privileges, and no capabilities but root's to read files"}
	if k.abi > 0 {
		what := "files that are not granted"
		if k.abi >= 4 {
			what += ", TCP without --allow-net"
		}
		if k.scopes {
			what += ", signals to other processes"
		}
		list = append(list, fmt.Sprintf("Landlock %d: %s", k.abi, what))
	}
	if k.filter {
		what := "sockets without --allow-net, other processes, kernel interfaces"
		if k.seal == nil {
			what += "; no process or program can be started, nor memory had that no limit counts"
		}
		list = append(list, "filter of system calls: "+what)
	}
	return list
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
