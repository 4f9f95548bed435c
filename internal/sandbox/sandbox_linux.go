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
}

// signalErratum is the bit for the mistake that threads of one process could
// not signal each other any more, which Go's scheduler does all the time.
const signalErratum = 1 << 1

var probe = sync.OnceValue(func() kernel {
	var k kernel
	k.abi = landlockQuery(unix.LANDLOCK_CREATE_RULESET_VERSION)
	k.scopes = k.abi >= 6 && landlockQuery(unix.LANDLOCK_CREATE_RULESET_ERRATA)&signalErratum != 0
	k.filter = canFilter()
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
	return level(k.abi, k.scopes, k.filter)
}

// Start calls start on an OS thread of its own that is confined as far as the
// kernel can, and with it every process that start starts. It returns what
// start does, which must not take long. If that is nil the thread lives until
// end is closed: the kernel takes it for the parent of what was started there.
func Start(s Spec, end <-chan struct{}, start func() error) error {
	result := make(chan error)
	go onThread(func() {
		err := restrict(s)
		if err == nil {
			err = start()
		}
		result <- err
		if err == nil {
			<-end
		}
	})
	return <-result
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

// restrict confines the calling thread, which cannot be undone.
func restrict(s Spec) error {
	k := probe()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("confine: no new privileges: %w", err)
	}
	if err := dropCapabilities(); err != nil {
		return fmt.Errorf("confine: %w", err)
	}
	if k.abi > 0 {
		if err := restrictFiles(k, s); err != nil {
			return fmt.Errorf("confine: %w", err)
		}
	}
	if k.filter {
		if err := installFilter(filterProgram(os.Getpid(), s.Network)); err != nil {
			return fmt.Errorf("confine: filter system calls: %w", err)
		}
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
