package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"coderunner/runners"
)

// bar shows a preparation on a terminal.
type bar struct {
	w    io.Writer
	bar  *progressbar.ProgressBar
	step string // what bar shows
}

func newBar(w io.Writer) *bar { return &bar{w: w} }

// report is a [runners.ProgressFunc].
func (b *bar) report(p runners.Progress) {
	if p.Phase == "run" {
		b.clear() // the terminal is the program's now
		return
	}
	if step := p.Phase + " " + p.Item; step != b.step || b.bar == nil {
		b.clear()
		b.step = step
		total := p.Total
		if total <= 0 {
			total = -1
		}
		b.bar = progressbar.NewOptions64(total,
			progressbar.OptionSetWriter(b.w),
			progressbar.OptionSetDescription(step),
			progressbar.OptionShowBytes(p.Phase == "download"),
			progressbar.OptionThrottle(100*time.Millisecond),
			progressbar.OptionSetWidth(24),
			progressbar.OptionClearOnFinish())
	}
	_ = b.bar.Set64(p.Done) // an error is a terminal that cannot be written to
}

// clear takes the bar away.
func (b *bar) clear() {
	if b.bar != nil {
		_ = b.bar.Finish() // which ends its goroutine, too
		b.bar, b.step = nil, ""
	}
}

// lines shows a preparation where there is no terminal: a line for each step.
type lines struct {
	w     io.Writer
	quiet time.Duration // nothing is shown of what is done by then
	begun time.Time
	shown map[string]bool // steps; several go on at a time, in turn
}

func newLines(w io.Writer, quiet time.Duration) *lines {
	return &lines{w: w, quiet: quiet, begun: time.Now(), shown: map[string]bool{}}
}

// report is a [runners.ProgressFunc].
func (l *lines) report(p runners.Progress) {
	step := p.Phase + " " + p.Item
	if l.shown[step] || p.Phase == "run" || time.Since(l.begun) < l.quiet {
		return
	}
	l.shown[step] = true
	fmt.Fprintf(l.w, "coderunner: %s\n", step)
}

// quietPreparation is how long a preparation prints nothing where stderr is
// not a terminal: most runs prepare nothing, and stderr is the program's. Tests
// change it.
var quietPreparation = 5 * time.Second

// showProgress shows the preparation of a program on stderr until done is called.
func showProgress(req *runners.Request) (done func()) {
	req.Progress, done = openProgress(quietPreparation)
	return done
}

// openProgress shows a preparation on stderr until done is called: after a while, where
// that is not a terminal.
func openProgress(quiet time.Duration) (report runners.ProgressFunc, done func()) {
	if term.IsTerminal(int(os.Stderr.Fd())) {
		p := newBar(os.Stderr)
		return p.report, p.clear
	}
	return newLines(os.Stderr, quiet).report, func() {}
}
