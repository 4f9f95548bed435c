package deno

import (
	"regexp"
	"slices"

	"coderunner/internal/sandbox"
	"coderunner/runners"
)

// A program's servers are for itself alone: without --allow-net it has a network of its
// own, where there is nothing else, if the system has such networks.

// itself are the hosts by which a program reaches its own servers.
var itself = []string{"localhost", "127.0.0.1", "0.0.0.0", "[::1]", "[::]"}

// ownNetwork reports whether a program has a network of its own, where there is nothing
// but itself. With --allow-net it has that of the system, and --deny-net takes both.
func ownNetwork(p runners.Policy) bool {
	return !p.Net.Any() && !p.DenyNet.All && !unconfined(p) && sandbox.OwnNetwork() == nil
}

// ownNetwork reports whether the process has a network of its own. To load a program it
// needs none.
func (in *instance) ownNetwork() bool {
	return !in.variant.making && !in.variant.narrow && ownNetwork(in.policy())
}

// serving matches what has a server, or what tests one.
var serving = regexp.MustCompile(`\b(listen\w*|serve|createServer|createSocket|startStandaloneServer)\(|Server\(|\b(supertest|chai-http)\b`)

// serves reports whether the program may have a server: a network of its own is of more
// use to it than a user who can be asked about hosts, and it cannot have both.
func (j *job) serves() bool {
	return serving.MatchString(j.req.Code) || slices.ContainsFunc(j.req.Files, func(f runners.File) bool { return serving.Match(f.Data) })
}

// onlyItself is the note about a server that nothing calls.
const onlyItself = `Only the program itself reaches its servers: call them in it, as with fetch("http://127.0.0.1:PORT/").`
