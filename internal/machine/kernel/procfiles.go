package kernel

import (
	"crypto/rand"
	"fmt"
	"strings"
	"time"
)

// ticks converts a time to clock ticks, as sysconf(_SC_CLK_TCK) has them.
func ticks(d time.Duration) int64 { return int64(d / (10 * time.Millisecond)) }

// pageSize is WebAssembly's, which sysconf(_SC_PAGESIZE) of programs is, too.
const pageSize = 64 << 10

// machineFiles are the files of /proc about the machine.
var machineFiles = map[string]func(*Kernel) string{
	"cpuinfo": (*Kernel).cpuinfo,
	"meminfo": (*Kernel).meminfo,
	"stat":    (*Kernel).stat,
	"uptime": func(k *Kernel) string {
		up := k.Uptime()
		return fmt.Sprintf("%.2f %.2f\n", up.Seconds(), k.idle(up, k.Busy()).Seconds())
	},
	"loadavg": func(k *Kernel) string {
		list := k.Processes()
		last := firstPID
		for _, p := range list {
			last = p.pid
		}
		return fmt.Sprintf("0.00 0.00 0.00 1/%d %d\n", len(list), last)
	},
	"version":     always("Linux version " + Release + " (coderunner) #1 SMP wasm32\n"),
	"filesystems": always("\ttmpfs\nnodev\tproc\n"),
	"vmstat":      always("pswpin 0\npswpout 0\n"),
	"swaps":       always("Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n"),
	"diskstats":   always(" 253       0 vda 0 0 0 0 0 0 0 0 0 0 0\n"),
	"partitions":  always("major minor  #blocks  name\n\n"),
	"net/dev": always("Inter-|   Receive                                                |  Transmit\n" +
		" face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed\n" +
		"    lo:       0       0    0    0    0     0          0         0        0       0    0    0    0     0       0          0\n"),
	"net/tcp": always("  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"),
	"net/udp": always("  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer drops\n"),
	"sys/kernel/random/uuid": func(*Kernel) string {
		b := make([]byte, 16)
		rand.Read(b) // never fails
		b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
		return fmt.Sprintf("%x-%x-%x-%x-%x\n", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
	},
	"net/unix": always("Num       RefCount Protocol Flags    Type St Inode Path\n"),
}

func always(text string) func(*Kernel) string { return func(*Kernel) string { return text } }

func (k *Kernel) cpuinfo() string {
	var b strings.Builder
	n := k.Processors()
	for i := range n {
		fmt.Fprintf(&b, "processor\t: %d\nvendor_id\t: WebAssembly\nmodel name\t: WebAssembly\ncpu MHz\t\t: 0.000\n"+
			"physical id\t: 0\nsiblings\t: %d\ncore id\t\t: %d\ncpu cores\t: %d\n\n", i, n, i, n)
	}
	return b.String()
}

// meminfo shows the program's memory limit, of which its files are a part.
func (k *Kernel) meminfo() string {
	s := k.fs.Statfs()
	total, free := s.Blocks*uint64(s.Bsize)>>10, s.Bavail*uint64(s.Bsize)>>10
	var b strings.Builder
	for _, row := range []struct {
		name string
		kB   uint64
	}{
		{"MemTotal", total}, {"MemFree", free}, {"MemAvailable", free}, {"Buffers", 0}, {"Cached", 0}, {"SwapCached", 0},
		{"Active", total - free}, {"Inactive", 0}, {"SwapTotal", 0}, {"SwapFree", 0}, {"Shmem", 0}, {"Slab", 0},
	} {
		fmt.Fprintf(&b, "%-16s%8d kB\n", row.name+":", row.kB)
	}
	return b.String()
}

// idle returns the time for which the processors had nothing to do.
func (k *Kernel) idle(up, busy time.Duration) time.Duration {
	return max(0, time.Duration(k.Processors())*up-busy)
}

func (k *Kernel) stat() string {
	var b strings.Builder
	n := k.Processors()
	busy := k.Busy()
	idle := k.idle(k.Uptime(), busy)
	fmt.Fprintf(&b, "cpu  %d 0 0 %d 0 0 0 0 0 0\n", ticks(busy), ticks(idle))
	for i := range n {
		fmt.Fprintf(&b, "cpu%d %d 0 0 %d 0 0 0 0 0 0\n", i, ticks(busy)/int64(n), ticks(idle)/int64(n))
	}
	fmt.Fprintf(&b, "intr 0\nctxt 0\nbtime %d\nprocesses %d\nprocs_running 1\nprocs_blocked 0\nsoftirq 0\n", k.began.Unix(), len(k.Processes()))
	return b.String()
}

// processFiles are the files of a process's directory.
var processFiles = map[string]func(*Process) string{
	"comm": func(p *Process) string { return p.comm() + "\n" },
	"cmdline": func(p *Process) string {
		_, args := p.Command()
		return strings.Join(append(args[:len(args):len(args)], ""), "\x00")
	},
	"environ": func(p *Process) string {
		p.k.mu.Lock()
		defer p.k.mu.Unlock()
		return strings.Join(append(p.env[:len(p.env):len(p.env)], ""), "\x00")
	},
	"io": func(*Process) string {
		return "rchar: 0\nwchar: 0\nsyscr: 0\nsyscw: 0\nread_bytes: 0\nwrite_bytes: 0\ncancelled_write_bytes: 0\n"
	},
	"mounts": func(*Process) string { return "memory / tmpfs rw 0 0\nproc /proc proc ro 0 0\n" },
	"stat":   (*Process).statLine,
	"statm": func(p *Process) string {
		pages := p.Usage().Memory / pageSize
		return fmt.Sprintf("%d %d 0 0 0 %d 0\n", pages, pages, pages)
	},
	"status": (*Process).statusText,
}

// comm returns the command's name, as short as Linux has it.
func (p *Process) comm() string {
	name := p.Name()
	return name[:min(len(name), 15)]
}

// state returns the letter and the word of the process's state. Whether a program
// that is measured from outside waits is not known: the main one is said to run.
func (p *Process) state() (letter, word string) {
	p.k.mu.Lock()
	defer p.k.mu.Unlock()
	switch {
	case p.exited:
		return "Z", "zombie"
	case p.measured && p.pid != firstPID, p.waiting > 0:
		return "S", "sleeping"
	}
	return "R", "running"
}

func (p *Process) statLine() string {
	letter, _ := p.state()
	u := p.Usage()
	return fmt.Sprintf("%d (%s) %s %d %d %d 0 -1 0 0 0 0 0 %d 0 %d 0 20 0 1 0 %d %d %d 18446744073709551615 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
		p.pid, p.comm(), letter, p.Parent(), p.Group(), p.Session(), ticks(u.CPU), ticks(p.ChildCPU()), ticks(p.began), u.Memory, u.Memory/pageSize)
}

func (p *Process) statusText() string {
	letter, word := p.state()
	kB := p.Usage().Memory >> 10
	return fmt.Sprintf("Name:\t%s\nState:\t%s (%s)\nTgid:\t%d\nPid:\t%d\nPPid:\t%d\nTracerPid:\t0\nUid:\t0\t0\t0\t0\nGid:\t0\t0\t0\t0\n"+
		"VmPeak:\t%8d kB\nVmSize:\t%8d kB\nVmHWM:\t%8d kB\nVmRSS:\t%8d kB\nVmData:\t%8d kB\nVmSwap:\t       0 kB\n"+
		"Threads:\t1\nCpus_allowed_list:\t0-%d\nvoluntary_ctxt_switches:\t0\nnonvoluntary_ctxt_switches:\t0\n",
		p.comm(), letter, word, p.pid, p.pid, p.Parent(), kB, kB, kB, kB, kB, p.k.Processors()-1)
}
