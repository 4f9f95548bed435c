//go:build linux && (amd64 || arm64)

package sandbox

import (
	"errors"
	"fmt"
)

// kernel is what this kernel offers.
type kernel struct {
	abi      int
	scopes   bool // Landlock's scopes, without a fault that matters to us
	filter   bool
	flags    uintptr // to install filters with
	shared   error   // why a started process cannot have a network of its own; nil if it can
	untraced error   // why a started process cannot be traced, to inject a filter into it; nil if it can
}

// injects returns why a process that was started cannot be put under a filter, nil if it can.
func (k kernel) injects() error {
	if !k.filter {
		return errors.New("the kernel has no filter of system calls")
	}
	return k.untraced
}

// level returns what a kernel offers, in words.
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
	if k.filter && k.untraced != nil {
		l = l.Without(fmt.Sprintf("this system does not let us trace what we start (%v), so making more processes is forbidden by Deno alone", k.untraced))
	}
	if k.abi > 0 && !k.scopes {
		l = l.Without("the kernel's Landlock does not guard other processes against signals")
	}
	return l
}

// inForce lists what a kernel does.
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
		if k.shared == nil {
			what = "sockets without --allow-net but those of TCP and UDP, other processes, kernel interfaces"
		}
		if k.untraced == nil {
			what += "; no process or program can be started, nor memory had that no limit counts"
		}
		list = append(list, "filter of system calls: "+what)
	}
	if k.shared == nil {
		list = append(list, "network namespace without --allow-net: a program reaches its own servers and nothing else")
	} else {
		list = append(list, fmt.Sprintf("no network namespace (%v): without --allow-net JavaScript has no servers, not even for itself", k.shared))
	}
	return list
}
