package deno

import (
	"fmt"
	"regexp"

	"coderunner/internal/sandbox"
	"coderunner/runners"
	"coderunner/runners/deno/guard"
)

// A program's servers are for itself alone: without --allow-net it has a network of its
// own, where there is nothing else, if the system has such networks.

// itself are the hosts by which a program reaches its own servers.
var itself = []string{"localhost", "127.0.0.1", "0.0.0.0", "[::1]", "[::]"}

// ownNetwork reports whether programs have a network of their own, where there is nothing
// but themselves. With --allow-net they have that of the system, and --deny-net takes both.
func ownNetwork(p runners.Policy) bool {
	return !p.Net.Any() && !p.DenyNet.All && !unconfined(p) && sandbox.OwnNetwork() == nil
}

// ownNetwork reports whether the process has a network of its own. To load a program it
// needs none. Where the user can be asked about hosts, the guard leads connections out of it.
func (in *instance) ownNetwork() bool {
	v := in.variant
	return !v.making && !v.narrow && ownNetwork(in.cfg.Policy) && (!v.asks || guard.CanLeave())
}

// refusedServer matches Deno's refusal of a server, or of a connection to one.
var refusedServer = regexp.MustCompile(`^Requires net access to "(\[::1?\]|0\.0\.0\.0|127\.0\.0\.1|localhost):\d+"`)

const (
	handler    = `call the server's handler itself (app.request of Hono, app.inject of Fastify, a function of Request), or use Python, where servers and their clients reach each other`
	onlyItself = `Only the program itself reaches its servers: call them in it, as with fetch("http://127.0.0.1:PORT/").`
)

// noServer returns what to append to the message of an error that refuses a server,
// nothing for any other.
func noServer(message string) string {
	if !refusedServer.MatchString(message) {
		return ""
	}
	if err := sandbox.OwnNetwork(); err != nil {
		return fmt.Sprintf("; this system does not let a program have a network of its own (%v); %s", err, handler)
	}
	return "; " + handler
}
