package deno

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"

	"coderunner/internal/sandbox"
)

// command is a Deno to start.
type command struct {
	path string
	args []string
	dir  string
	env  []string
	spec *sandbox.Spec // what it may touch; nil: it is not confined
	// Where it is confined, it gets a control group, if there can be one. The
	// process removes it.
	group *sandbox.Group
}

// cmd is the one place where a process of Deno is put together.
func (c command) cmd() *exec.Cmd {
	cmd := exec.Command(c.path, c.args...)
	cmd.Dir = c.dir
	cmd.Env = c.env
	cmd.SysProcAttr = ownGroup()
	return cmd
}

// starter starts the processes of a Runner that are not confined, from one OS
// thread that lives as long as the Runner: on Linux a process is killed when
// the thread that started it ends, and that is to happen when this process
// ends, not before.
type starter struct {
	work chan func()
	done chan struct{}
}

func newStarter() *starter {
	s := &starter{work: make(chan func()), done: make(chan struct{})}
	go func() {
		defer close(s.done)
		runtime.LockOSThread() // never unlocked: the thread ends with us
		for f := range s.work {
			f()
		}
	}()
	return s
}

func (s *starter) start(cmd *exec.Cmd) error {
	result := make(chan error, 1)
	s.work <- func() { result <- cmd.Start() }
	return <-result
}

func (s *starter) close() {
	close(s.work)
	<-s.done
}

// process is a started Deno, alone in its process group. Somebody must call
// wait once, or reap and collect once each.
type process struct {
	cmd    *exec.Cmd
	end    chan struct{} // closed when it is reaped, and cmd.ProcessState is there; lets go of its thread
	stdin  *os.File      // our ends of the pipes; collect closes them
	stdout *output
	stderr *output
	report *output        // nil if there is none
	group  *sandbox.Group // nil if there is none; reap removes it

	mu     sync.Mutex
	ended  bool   // by itself or killed: its group is no longer to be killed
	reason string // why it was killed, "" if it was not
}

// process starts c.
func (s *starter) process(c command) (*process, error) {
	var files []*os.File
	pipe := func() (r, w *os.File, err error) {
		r, w, err = os.Pipe()
		if err == nil {
			files = append(files, r, w)
		}
		return r, w, err
	}
	fail := func(err error) (*process, error) {
		for _, f := range files {
			f.Close()
		}
		_ = c.group.Close()
		return nil, fmt.Errorf("start %s: %w", c.path, err)
	}
	p := &process{cmd: c.cmd(), end: make(chan struct{}), group: c.group}
	in, inW, err := pipe()
	if err != nil {
		return fail(err)
	}
	outR, out, err := pipe()
	if err != nil {
		return fail(err)
	}
	errR, errW, err := pipe()
	if err != nil {
		return fail(err)
	}
	p.stdin, p.stdout, p.stderr = inW, newOutput(outR), newOutput(errR)
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = in, out, errW
	if c.spec != nil {
		err = p.startConfined(*c.spec)
	} else {
		err = s.start(p.cmd)
	}
	if err != nil {
		return fail(err)
	}
	in.Close()
	out.Close()
	errW.Close()
	return p, nil
}

// startConfined starts the process under a confinement.
func (p *process) startConfined(spec sandbox.Spec) error {
	err := sandbox.Start(spec, p.end, func(trace bool) (pid int, err error) {
		setTraced(p.cmd.SysProcAttr, trace)
		p.group.Place(p.cmd.SysProcAttr)
		if err := p.cmd.Start(); err != nil {
			return 0, err
		}
		return p.cmd.Process.Pid, nil
	})
	if err != nil && p.cmd.Process != nil {
		_ = p.cmd.Wait() // it was killed before it began
	}
	return err
}

// kill ends the process and all of its group at once, for a reason that
// stopped then gives. The first reason counts. A process that has ended is
// left alone.
func (p *process) kill(reason string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return
	}
	if p.reason == "" {
		p.reason = reason
	}
	_ = p.cmd.Process.Kill() // it may have left its group
	killGroup(p.cmd.Process)
}

// stopped says why the process was killed, "" if it was not.
func (p *process) stopped() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.reason
}

// wait waits for the end of the process and for readers, which copy its
// output.
func (p *process) wait(readers *sync.WaitGroup) *os.ProcessState {
	p.reap()
	p.collect(readers)
	return p.cmd.ProcessState
}

// reap waits for the end of the process and kills what it left in its group.
func (p *process) reap() {
	defer close(p.end)
	// As long as it is not reaped, the group's number cannot be another's.
	early := awaitExit(p.cmd.Process)
	if early {
		p.endGroup()
	}
	_ = p.cmd.Wait() // the state says it all
	if !early {
		p.endGroup()
	}
	for until := time.Now().Add(dying); groupLives(p.cmd.Process) && time.Now().Before(until); {
		time.Sleep(time.Millisecond)
	}
	p.leaveGroup()
}

// leaveGroup removes the control group, which may say why the process ended.
func (p *process) leaveGroup() {
	memory, threads := p.group.Refused()
	_ = p.group.Close() // what is left of it the next start removes
	p.mu.Lock()
	defer p.mu.Unlock()
	code, signal := exitOf(p.cmd.ProcessState)
	switch {
	case p.reason != "":
	case memory && signal == syscall.SIGKILL.String():
		p.reason = stopMemory
	case threads && code != 0:
		p.reason = stopThreads
	}
}

// dying is how long the processes of a group that was killed may take to end
// before nobody waits for them any more.
const dying = 200 * time.Millisecond

// collect gives the readers what is in the pipes and waits for them. The
// process prints nothing any more.
func (p *process) collect(readers *sync.WaitGroup) {
	p.stdin.Close()
	outputs := []*output{p.stdout, p.stderr, p.report}
	for _, o := range outputs {
		if o != nil {
			o.end()
		}
	}
	readers.Wait()
	for _, o := range outputs {
		if o != nil {
			o.Close()
		}
	}
}

func (p *process) endGroup() {
	p.mu.Lock()
	defer p.mu.Unlock()
	killGroup(p.cmd.Process)
	p.ended = true
}

// output is our end of a pipe that a process writes to. One goroutine reads
// it; any may call end.
//
// When the process has ended, all that it wrote is in the pipe, however late
// the reader comes to it. But the end of the file may never come, if a process
// that it started left its group and holds on to the pipe.
type output struct {
	f     *os.File      // not embedded: only Read may read from it
	ended chan struct{} // closed by end
	rest  bool          // the reader has seen that it has ended
	left  int           // bytes that are still read then
}

// maxRest is how many bytes a pipe may hold: more are not read after the end.
// It is the most that Linux allows without privileges.
const maxRest = 1 << 20

func newOutput(f *os.File) *output {
	return &output{f: f, ended: make(chan struct{}), left: maxRest}
}

// end makes Read give what is in the pipe now, and then io.EOF. It is called
// once.
func (o *output) end() {
	close(o.ended)
	_ = o.f.SetReadDeadline(time.Unix(1, 0)) // wakes the reader; where that cannot be done, it waits for the end of the file
}

// Read implements io.Reader.
func (o *output) Read(b []byte) (int, error) {
	if !o.rest {
		n, err := o.f.Read(b)
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return n, err
		}
		select {
		case <-o.ended:
		default:
			return n, err // another deadline
		}
		o.rest = true
	}
	n, err := readNow(o.f, b[:min(len(b), o.left)])
	o.left -= n
	if n == 0 && err == nil {
		err = io.EOF
	}
	return n, err
}

// Close closes the pipe.
func (o *output) Close() error { return o.f.Close() }
