// Package machine is the directory of the small operating system that every guest
// program runs on. The packages below it know neither a language nor how a program
// is run, and import nothing else of ours.
//
//	kernel    processes, signals, pipes' ends, /proc
//	memfs     files in memory, mounts of host directories, overlays, pipes
//	hostdir   a granted directory of the host, from which nothing gets out
//	netstack  sockets: a loopback of the run's own, and a dialer that the policy hands over
//	baton     turns of threads that run one at a time
//	clock     time zones, and dates as programs write them
//	abi       errno and the other numbers that all of them share
package machine
