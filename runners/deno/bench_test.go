package deno

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"coderunner/cache"
	"coderunner/runners"
	"coderunner/runners/deno/process"
)

const hello = "console.log('hello' as string)"

// BenchmarkHello compares in turn, in one run, a program in a process that
// waited for it, one in a process that is started for it, and deno run of the
// same file. The metrics are medians in milliseconds and their ratios: look at
// those, and at no less than 30 iterations.
func BenchmarkHello(b *testing.B) {
	parked, fresh := openParked(b, 2), open(b, "", nil)
	once := func(r *Runner) func() {
		return func() {
			if o := run(b, r, runners.Request{Code: hello}); o.Stdout != "hello\n" {
				b.Fatal(o)
			}
		}
	}
	beside(b, map[string]func(){"parked": once(parked), "fresh": once(fresh), "denorun": denoRun(b)}, parked)
}

// BenchmarkZod is BenchmarkHello with a package, and without deno run.
func BenchmarkZod(b *testing.B) {
	parked, fresh := openParked(b, 2), open(b, "", nil)
	once := func(r *Runner) func() {
		return func() {
			if o := run(b, r, runners.Request{Code: "import { z } from 'zod@3';\nz.string().parse('hello')"}); o.Result == nil {
				b.Fatal(o)
			}
		}
	}
	beside(b, map[string]func(){"parked": once(parked), "fresh": once(fresh)}, parked)
}

// BenchmarkCode has cheerio loaded in turn with the compiled code of its set
// and without. The metrics are medians in milliseconds: of the loading alone,
// and of the processor time of the run.
func BenchmarkCode(b *testing.B) {
	req := runners.Request{Code: `const begun = performance.now();
		const { load } = await import("npm:cheerio@1");
		console.log(performance.now() - begun); load("<p>x</p>")("p").text()`}
	without := open(b, "", func(c *process.Config) {
		var err error
		if c.Cache, err = cache.Open(b.TempDir()); err != nil {
			b.Fatal(err)
		}
		c.Ahead = 1
	})
	things := map[string]*Runner{"with": openParked(b, 1), "without": without}
	for _, r := range things {
		run(b, r, req) // makes it, if it is not there
		r.settle()
	}
	_, v := variantOf(b, without, req)
	for without.Store.Drop(b.Context(), without.CodeKey(v)) { // until it is given up
		run(b, without, req)
		without.settle()
	}
	load, cpu := map[string][]float64{}, map[string][]float64{}
	for b.Loop() {
		for name, r := range things {
			waiting(b, r)
			r.settle()
			o := run(b, r, req)
			var ms float64
			if _, err := fmt.Sscan(o.Stdout, &ms); err != nil {
				b.Fatalf("%s %+v", o.Status, o.Error)
			}
			load[name], cpu[name] = append(load[name], ms), append(cpu[name], float64(o.Usage.CPUMS))
		}
	}
	for name := range things {
		b.ReportMetric(median(load[name]), name+"-load-ms")
		b.ReportMetric(median(cpu[name]), name+"-cpu-ms")
	}
}

func median(of []float64) float64 {
	slices.Sort(of)
	return of[len(of)/2]
}

// BenchmarkBackToBack has one run follow the other without a pause, so that
// the processes for later compete with the runs.
func BenchmarkBackToBack(b *testing.B) {
	r := openParked(b, 4)
	for b.Loop() {
		if o := run(b, r, runners.Request{Code: hello}); o.Stdout != "hello\n" {
			b.Fatal(o)
		}
	}
}

// beside measures things in turn. Before each the processes of r are ready.
func beside(b *testing.B, things map[string]func(), r *Runner) {
	times := map[string][]time.Duration{}
	for _, f := range things {
		f()
	}
	for b.Loop() {
		for name, f := range things {
			waiting(b, r)
			r.settle()
			begun := time.Now()
			f()
			times[name] = append(times[name], time.Since(begun))
		}
	}
	ms := func(name string) float64 {
		slices.Sort(times[name])
		return float64(times[name][len(times[name])/2].Microseconds()) / 1000
	}
	for name := range things {
		b.ReportMetric(ms(name), name+"-ms")
	}
	b.ReportMetric(ms("parked")/ms("fresh"), "parked/fresh")
	if things["denorun"] != nil {
		b.ReportMetric(ms("parked")/ms("denorun"), "parked/denorun")
		b.ReportMetric(ms("fresh")/ms("denorun"), "fresh/denorun")
	}
}

// denoRun returns a function that has deno run the same program.
func denoRun(b *testing.B) func() {
	binary, err := binaryOnce()
	if err != nil {
		b.Fatal(err)
	}
	name := filepath.Join(b.TempDir(), "main.ts")
	if err := os.WriteFile(name, []byte(hello), 0o600); err != nil {
		b.Fatal(err)
	}
	dir := b.TempDir()
	return func() {
		cmd := exec.Command(binary, "run", "--no-config", "--no-lock", name)
		cmd.Env = []string{"DENO_DIR=" + dir, "NO_COLOR=1", "DENO_NO_UPDATE_CHECK=1"}
		if out, err := cmd.Output(); err != nil || string(out) != "hello\n" {
			b.Fatalf("%s, %v", out, err)
		}
	}
}
