// Package hostile holds the tests that try to break coderunner: programs that
// want out or do not end, packages and registries that lie, clients and servers
// that vanish. It has no code of its own.
//
// Everything goes through the real server, started as a client starts it. After
// each case the server answers, the next program sees nothing of it, and no
// process, goroutine, file descriptor, temporary file or cache entry is left:
// counted in /proc, on the disk, and by the server itself, which tells its
// goroutines when it gets SIGUSR1.
//
// Programs are cases in testdata, in the format of package runnertest. Their
// comments, and those of the tests, name the rows of a table of kinds of attack,
// testdata/ROWS.md:
//
//	1-6   CPU               7-12  memory         13-14 stack     15-20 output
//	21-22 ends              23-26 isolation      27-29 files     30-32 environment
//	33-36 network           37-46 wheels         47-52 registries
//	53-58 cache             59-65 lifecycle      66-70 oddities
//
// TestRows holds that each of the seventy has a case, or a reason not to.
//
// # Testing
//
// `just hostile` runs it. With CODERUNNER_LONG=1 (`just long`) the tests that
// otherwise take a part (package sample) do everything: each damage to each kind
// of file in the cache, 200 servers killed, each function that the module exports.
// CODERUNNER_SERVER names a server to use instead of one that is built.
package hostile
