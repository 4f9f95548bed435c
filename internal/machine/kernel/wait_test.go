package kernel

import (
	"context"
	"errors"
	"testing"

	"coderunner/internal/machine/abi"
)

func TestExitStatus(t *testing.T) {
	p := start(t, Options{})
	for path, want := range map[string]Status{"true": 0, "/bin/false": 1 << 8, "../usr/bin/true": 0} {
		c := mustStart(t, p, Exec{Path: path, Dir: "/bin"})
		if w := mustWait(t, p, c.PID()); w.PID != c.PID() || w.Status != want {
			t.Errorf("%s: %+v, want status %#x", path, w, want)
		}
	}
	if _, e := p.Wait(t.Context(), -1, 0); e != abi.ECHILD {
		t.Errorf("Wait without children: %v", e)
	}
	if _, e := p.Wait(t.Context(), p.PID(), 0); e != abi.ECHILD {
		t.Errorf("Wait for oneself: %v", e)
	}
}

func TestWait(t *testing.T) {
	p := start(t, Options{})
	c := mustStart(t, p, Exec{Path: "wait", Group: NewGroup})
	d := mustStart(t, p, Exec{Path: "wait", Group: c.PID()})
	if w, e := p.Wait(t.Context(), -1, NoHang); e != abi.OK || w.PID != 0 {
		t.Errorf("Wait with NoHang: %+v %v", w, e)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, e := p.Wait(ctx, -1, 0); e != abi.EINTR {
		t.Errorf("Wait in a context that has ended: %v", e)
	}
	if e := p.Kill(-c.PID(), SIGTERM); e != abi.OK {
		t.Fatalf("Kill of a group: %v", e)
	}
	<-c.Done()
	if w, e := p.Wait(t.Context(), c.PID(), Keep); e != abi.OK || w.Status != Signalled(SIGTERM) {
		t.Errorf("Wait with Keep: %+v %v", w, e)
	}
	for range 2 {
		if w := mustWait(t, p, -c.PID()); w.Status.Code() != 128+15 || w.PID != c.PID() && w.PID != d.PID() {
			t.Errorf("Wait for a group: %+v", w)
		}
	}
	if e := p.Kill(c.PID(), 0); e != abi.ESRCH {
		t.Errorf("Kill of a process that is gone: %v", e)
	}
}

func TestReaps(t *testing.T) {
	p := start(t, Options{})
	c := mustStart(t, p, Exec{Path: "/bin/false"})
	<-c.Done()
	if e := p.Kill(c.PID(), 0); e != abi.OK {
		t.Errorf("Kill of a zombie: %v", e)
	}
	p.Reaps()
	if e := p.Kill(c.PID(), 0); e != abi.ESRCH {
		t.Errorf("Kill of a child that counts as waited for: %v", e)
	}
	if w := mustWait(t, p, c.PID()); w.Status != 1<<8 {
		t.Errorf("Wait for it: %+v", w)
	}
}

func TestOrphans(t *testing.T) {
	p := start(t, Options{})
	born := make(chan *Process, 1)
	c := mustStart(t, p, Exec{Program: func(_ context.Context, c *Process) int {
		g, err := c.Start(Exec{Path: "wait"})
		if err != nil {
			t.Error(err)
		}
		born <- g
		return 7
	}})
	if w := mustWait(t, p, c.PID()); w.Status.Code() != 7 {
		t.Errorf("%+v", w)
	}
	g := <-born
	if g.Parent() != initPID {
		t.Errorf("the orphan's parent is %d", g.Parent())
	}
	if e := p.Kill(g.PID(), SIGKILL); e != abi.OK {
		t.Errorf("Kill: %v", e)
	}
	<-g.Done()
	if p.Kernel().Process(g.PID()) != nil {
		t.Error("nobody reaped the orphan")
	}
	if _, err := c.Start(Exec{Path: "true"}); !errors.Is(err, abi.ESRCH) {
		t.Errorf("a process that has ended started one: %v", err)
	}
}

func TestGroups(t *testing.T) {
	p := start(t, Options{})
	c := mustStart(t, p, Exec{Path: "wait"})
	if e := p.SetGroup(c.PID(), 0); e != abi.OK || c.Group() != c.PID() || c.Session() != p.PID() {
		t.Errorf("SetGroup: %v, group %d, session %d", e, c.Group(), c.Session())
	}
	if e := p.SetGroup(c.PID(), 9999); e != abi.EPERM {
		t.Errorf("SetGroup to none: %v", e)
	}
	if e := p.SetGroup(9999, 0); e != abi.ESRCH {
		t.Errorf("SetGroup of none: %v", e)
	}
	if e := c.SetSession(); e != abi.EPERM {
		t.Errorf("SetSession of a group's leader: %v", e)
	}
	s := mustStart(t, p, Exec{Path: "wait", Session: true})
	if s.Session() != s.PID() || s.Group() != s.PID() {
		t.Errorf("group %d, session %d", s.Group(), s.Session())
	}
	if _, err := p.Start(Exec{Path: "wait", Group: s.PID()}); !errors.Is(err, abi.EPERM) {
		t.Errorf("Start in the group of another session: %v", err)
	}
	if e := p.SetGroup(s.PID(), 0); e != abi.EPERM {
		t.Errorf("SetGroup of a session's leader: %v", e)
	}
}

func TestOpenPID(t *testing.T) {
	p := start(t, Options{})
	c := mustStart(t, p, Exec{Path: "wait"})
	f, e := p.Kernel().OpenPID(c.PID())
	if e != abi.OK {
		t.Fatal(e)
	}
	defer f.Close()
	if ev := f.Ready(); ev != 0 {
		t.Errorf("ready %v", ev)
	}
	woken := make(chan struct{}, 1)
	defer f.Watch(woken)()
	p.Kill(c.PID(), SIGKILL)
	<-woken
	if ev := f.Ready(); ev&abi.POLLIN == 0 {
		t.Errorf("ready %v", ev)
	}
}
