package emscripten

import (
	"cmp"
	"slices"
	"time"

	"coderunner/internal/machine/abi"
)

// New makes a process with standard descriptors 0, 1 and 2 open and the usual
// devices in /dev. Close releases what it holds.
func New(c Config) (*Process, error) {
	p := &Process{
		Guest:    c.Guest,
		fs:       c.FS,
		env:      slices.Clone(c.Env),
		location: cmp.Or(c.Location, time.UTC),
		umask:    cmp.Or(c.Umask, 0o022),
		mappings: mappings{},
		cwd:      c.FS.Root(),
		net:      c.Sockets,
		outside:  c.Outside,
		refused:  c.Refused,
	}
	p.Timers.expired = func(which uint32) {
		p.Guest.Alarm(which)
		p.Interrupt()
	}
	p.clock.now = c.Now
	if c.Now == nil {
		p.clock.now = time.Now
	}
	p.clock.zero = p.clock.now().Add(-c.Monotonic)
	p.clock.start, p.clock.shown = c.Monotonic, c.Monotonic
	p.fds.max = cmp.Or(c.MaxFiles, 8192)
	p.openStdio(c)
	if _, errno := p.fs.Lookup(nil, "/dev/null", false); errno != abi.OK {
		if err := p.fs.MakeDevices(); err != nil {
			return nil, err
		}
	}
	if c.Cwd != "" {
		if err := p.Chdir(c.Cwd); err != nil {
			return nil, err
		}
	}
	return p, nil
}
