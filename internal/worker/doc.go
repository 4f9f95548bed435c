// Package worker runs programs of Python and bash in processes of their own, so that the
// server executes no byte of a guest.
//
// A worker is this binary again, with the command [Command]. It contains everything that a
// guest is: the machine, interpreters, the shell and its commands, on the same runners that
// the server would have. The server keeps what is trusted, and does for workers what needs
// the network or writes to disk: [python.Host] is the boundary between the two.
//
//	server                                         worker, confined
//	Pool.Run ── choose, or take the spare ──────> the runner of the language
//	served: find, prepare, snapshot, compile <─── host      (python.Host)
//	served: lookup, dial, listen             <─── network   (process.Network)
//	served: saved, leave, link               <─── session   (runners.Session)
//
// A worker is connected by one socket ([wire]); each run has another, which comes over the
// first. What a worker dials is dialled by the server, which passes on bytes: no socket of
// the host's network gets into a worker.
//
// # Clients
//
// A worker serves one client, whose programs share it, and never another one. Scripts of
// bash get one that runs nothing else, if there is room. It is replaced after [maxRuns]
// runs, or when its memory does not come back. One that has no client yet, the spare, waits
// for the next.
//
// # How a worker ends
//
// A worker that dies takes its own runs: [runners.Crashed], or [runners.OutOfMemory] where
// its runs had more than their limits. A run that does not end soon after its time limit, or
// after it was cancelled, is ended with its worker.
//
// # Trust
//
// What a worker says is a claim. Packages, files of sessions, contacts and times are what the
// server saw; names and sizes are checked; what gets into the cache is made by the
// server, or by a worker that runs nothing but the code of the packages in question.
//
// # Locking
//
// Pool.mu guards the list of workers and what they run. It is not held while anything waits.
package worker
