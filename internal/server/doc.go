// Package server is the MCP server: it offers the tool run_code over stdio or
// HTTP, and hands each call to a [runners.Runner].
//
// It is the only package that knows MCP. It runs nothing itself, knows no
// language and writes nothing but protocol to the stream it is given.
//
// A line is decoded once (message.go) and entered into the table of its connection
// (conn.go). A call goes through [Server.handle]: its
// arguments are checked (args.go), it waits for a free place (package queue), runs while
// progress is reported (progress.go), and its outcome becomes content blocks and
// structured content (call.go, internal/answer). What is cut, shown or written by the
// program is kept as resources (store.go), as are the page that shows results in hosts
// that know MCP Apps (apps.go, app/) and what describes the server (environment.go).
// Where the policy leaves it to the user whether a program may connect, the user is asked
// by a request (ask.go) or, as of revision 2026-07-28, by the call's result (dialogue.go):
// elicit.go chooses.
//
// # Sources
//
// The Model Context Protocol, revisions up to 2026-07-28, as
// github.com/mark3labs/mcp-go 1.2.1 implements it. The transports, stdio.go and http.go,
// are our own, on that library's HandleMessage: see RATIONALE.md, and that of
// internal/httpserve, which says who a client is and gives each a server.
//
// # Locking
//
// conn.mu guards the table of requests in progress and is never held while
// something is written. conn.writeMu is held for one Write and nothing else.
// streams.mu guards the HTTP sessions; conn.mu may be locked under it. Clients that
// share a [queue.Queue] take turns; one client's calls keep the order of arrival.
//
// # Limits
//
// One client. Tasks, prompts and sampling are not offered.
//
// # Testing
//
// Fake runners under testing/synctest, golden tool schemas in testdata, and
// scripts against the real binary in cmd/coderunner.
package server
