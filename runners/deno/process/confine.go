package process

import (
	"fmt"
	"path/filepath"
	"slices"

	"coderunner/internal/process"
	"coderunner/internal/sandbox"
	"coderunner/runners"
	"coderunner/runners/deno/guard"
)

// Isolation returns how the kernel confines a program under a policy, beside
// Deno's own permissions. See [Confinement] for the other limits.
func Isolation(p runners.Policy) sandbox.Level {
	level := sandbox.Probe()
	if Unconfined(p) {
		level.InForce = nil
	}
	if p.Run.Any() && !p.DenyRun.All {
		level = level.Without("--allow-run: programs that a program starts need the whole machine")
	}
	if p.FFI.Any() && !p.DenyFFI.All {
		level = level.Without("--allow-ffi: native libraries need the whole machine")
	}
	if p.Net.Any() && !p.DenyNet.All && !Unconfined(p) && level.Name != sandbox.None {
		if err := sandbox.Supervised(); err != nil {
			level = level.Without(fmt.Sprintf("where programs connect to is guarded by Deno alone: system calls cannot be supervised (%v)", err))
		} else {
			level.InForce = append(slices.Clip(level.InForce), "supervision of sockets: connections and datagrams go to checked addresses only, by our own calls")
		}
	}
	return level
}

// Confinement returns Isolation with all limits that are in force. It probes the
// control group.
func Confinement(p runners.Policy) sandbox.Level {
	level := Isolation(p)
	level.InForce = append(slices.Clip(level.InForce), process.Limits()...)
	if !Unconfined(p) && level.Name != sandbox.None {
		level.InForce = append(level.InForce, process.GroupLimits())
	}
	return level
}

// Unconfined reports whether the policy leaves nothing to confine.
func Unconfined(p runners.Policy) bool {
	return p.Run.Any() && !p.DenyRun.All || p.FFI.Any() && !p.DenyFFI.All
}

// Confinement returns what the process may touch, nil if that is everything. It
// may write nothing that another process reads, unless the policy allows it.
func (in *Instance) Confinement() *sandbox.Spec {
	v, p := in.Variant, in.policy()
	if Unconfined(p) {
		return nil
	}
	main, text := in.RunDirs.bootstrap(bootstrapName(v))
	s := &sandbox.Spec{
		Execute: []string{v.Binary},
		Read:    []string{in.OwnDir, in.code, main, text},
		Write:   []string{in.Dir.Path},
		Network: p.Net.Any() && !p.DenyNet.All, Loopback: in.ownNetwork(), Attributes: true,
		Large: in.readOnly(v.Binary),
	}
	if v.Ready.Dir != "" {
		s.Read = slices.Concat(s.Read, []string{v.Ready.Dir}, v.Ready.Dirs, v.Ready.Copies)
	}
	if v.Ready.Remote {
		for _, name := range fetched[1:] {
			s.Read = append(s.Read, filepath.Join(in.DenoDir, name))
		}
	}
	if s.Network {
		s.Supervise = in.Guard.Attach
		s.Read = append(s.Read, in.RunDirs.root())
		for _, name := range CertificateVariables {
			s.Read = append(s.Read, in.Config.Env[name])
		}
	}
	s.Read = append(s.Read, granted(p.Read, p.DenyRead)...)
	s.Write = append(s.Write, granted(p.Write, p.DenyWrite)...)
	return s
}

// A program's servers are for itself alone: without --allow-net it has a network of its
// own, where there is nothing else, if the system has such networks.

// itself are the hosts by which a program reaches its own servers.
var itself = []string{"localhost", "127.0.0.1", "0.0.0.0", "[::1]", "[::]"}

// ownNetwork reports whether programs have a network of their own, where there is nothing
// but themselves. With --allow-net they have that of the system, and --deny-net takes both.
func ownNetwork(p runners.Policy) bool {
	return !p.Net.Any() && !p.DenyNet.All && !Unconfined(p) && sandbox.OwnNetwork() == nil
}

// ownNetwork reports whether the process has a network of its own. To load a program it
// needs none. Where the user can be asked about hosts, the guard leads connections out of it.
func (in *Instance) ownNetwork() bool {
	v := in.Variant
	return !v.Making && !v.Narrow && ownNetwork(in.Config.Policy) && (!v.Asks || guard.CanLeave())
}

// Supervised reports whether our dialer makes the connections of programs.
func Supervised(p runners.Policy) bool {
	return p.Net.Any() && !p.DenyNet.All && !Unconfined(p) && sandbox.Supervised() == nil
}

// asking returns the policy of a process whose program may connect where the user allows
// it. Deno would refuse it before it is asked, so Deno allows the network, but for what
// is denied, and the guard alone keeps the policy of the run.
func asking(p runners.Policy) runners.Policy {
	p.Net = runners.Grant{All: true}
	return p
}

// CanAsk reports whether the guard can be left to decide, and has something to ask.
func CanAsk(p runners.Policy) bool { return !p.Net.All && Supervised(asking(p)) }

// granted returns the paths of a grant. Landlock has no exceptions: Deno enforces
// those.
func granted(allow, deny runners.Grant) []string {
	switch {
	case deny.All:
		return nil
	case allow.All:
		return []string{"/"}
	}
	return allow.List
}

// Spec returns what the trusted phase may touch. It runs no code of a package, but
// unpacks and parses untrusted archives. Staging is the directory that it fills,
// "" if there is none.
func (t *Tool) Spec(binary, dir, staging string) *sandbox.Spec {
	s := &sandbox.Spec{Execute: []string{binary}, Read: []string{dir}, Write: []string{t.DenoDir, staging}, Network: true, Attributes: true}
	for _, name := range CertificateVariables {
		s.Read = append(s.Read, t.Config.Env[name])
	}
	return s
}
