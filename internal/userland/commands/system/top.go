package system

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"coderunner/internal/machine/clock"
	"coderunner/internal/machine/kernel"
	"coderunner/internal/userland/commands/command"
)

// topFormat are the columns of top, as ps has them, with top's heads.
const topFormat = "pid user=USER pri=PR ni vsz=VIRT rss=RES shr s pcpu pmem=%MEM cputimes=TIME+ comm=COMMAND"

// Top prints the processes again and again, as `top -b` does.
func Top(c *command.Call) int {
	o := c.Parse("b,batch-mode n,iterations= d,delay= p,pid= o,sort-override= c,cmdline-toggle i,idle-toggle H,threads-show u,filter-only-euser= w,width=?", 0, 0)
	times, ok := command.Atoi(o.Value("n", "0"))
	delay, fits := clock.Duration(o.Value("d", "3"))
	switch {
	case !ok || times < 0:
		return c.Die(1, "bad iterations argument %s", command.Quote(o.Value("n", "")))
	case !fits:
		return c.Die(1, "bad delay interval %s", command.Quote(o.Value("d", "")))
	case !o.On("b"):
		return c.Die(1, "there is no terminal here: use top -b -n1")
	}
	for i := 1; ; i++ {
		if topOnce(c, o); i == times {
			return 0
		}
		c.Print("\n")
		c.Out.Flush()
		select {
		case <-time.After(delay):
		case <-c.Ctx.Done():
			return 1
		}
	}
}

func topOnce(c *command.Call, o *command.Options) {
	k := c.Process.Kernel()
	list := processes(c)
	if pids := psList(strings.Join(o.Values("p"), ",")); len(pids) > 0 {
		list = slices.DeleteFunc(list, func(p *kernel.Process) bool { return !slices.Contains(pids, strconv.Itoa(p.PID())) })
	}
	psSort(c, list, map[string]string{"%MEM": "-rss", "RES": "-rss", "PID": "-pid", "TIME+": "-cputimes"}[strings.TrimPrefix(o.Value("o", ""), "+")])
	busy := share(k.Busy(), k.Uptime()*time.Duration(k.Processors()))
	s := c.FS.Statfs()
	mib := func(blocks uint64) float64 { return float64(blocks) * float64(s.Bsize) / (1 << 20) }
	c.Printf("top -%s", uptime(c))
	c.Printf("Tasks: %3d total, %3d running, %3d sleeping, %3d stopped, %3d zombie\n", len(list), 1, max(0, len(list)-1), 0, 0)
	c.Printf("%%Cpu(s): %4.1f us, %4.1f sy, %4.1f ni,%5.1f id, %4.1f wa, %4.1f hi, %4.1f si, %4.1f st\n", busy, 0., 0., 100-busy, 0., 0., 0., 0.)
	c.Printf("MiB Mem : %8.1f total, %8.1f free, %8.1f used, %8.1f buff/cache\n", mib(s.Blocks), mib(s.Bavail), mib(s.Blocks-s.Bavail), 0.)
	c.Printf("MiB Swap: %8.1f total, %8.1f free, %8.1f used. %8.1f avail Mem\n\n", 0., 0., 0., mib(s.Bavail))
	format, _ := psFormat(topFormat)
	if o.On("c") {
		words, _ := psFormat("args=COMMAND")
		format[len(format)-1] = words[0]
	}
	psLine(c, format, func(f psColumn) string { return f.head })
	for _, p := range list {
		psLine(c, format, func(f psColumn) string { return f.value(c, p) })
	}
}

// share returns how many per cent of whole part is.
func share(part, whole time.Duration) float64 {
	if whole <= 0 {
		return 0
	}
	return min(100, 100*float64(part)/float64(whole))
}
