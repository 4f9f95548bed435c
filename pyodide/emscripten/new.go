package emscripten

import (
	"math"
	"slices"
	"time"
)

// New makes a process with standard descriptors 0, 1 and 2 open and the usual
// devices in /dev. Close releases what it holds.
func New(c Config) (*Process, error) {
	p := &Process{
		Guest:    c.Guest,
		fs:       c.FS,
		env:      slices.Clone(c.Env),
		now:      c.Now,
		location: c.Location,
		maxHeap:  maxPages * pageSize,
		umask:    0o022,
		mappings: map[uint32]*mapping{},
		cwd:      c.FS.Root(),
	}
	if p.now == nil {
		p.now = time.Now
	}
	if p.location == nil {
		p.location = time.UTC
	}
	if c.MaxHeap > 0 && c.MaxHeap < math.MaxUint32 {
		p.maxHeap = min(p.maxHeap, uint32(c.MaxHeap))
	}
	p.start = p.now().Add(-c.Monotonic)
	p.fds.max = c.MaxFiles
	if p.fds.max == 0 {
		p.fds.max = 1024
	}
	p.openStdio(c)
	if err := p.makeDevices(); err != nil {
		return nil, err
	}
	if c.Cwd != "" {
		if err := p.Chdir(c.Cwd); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// Close closes the descriptors and stops the timers. The guest must not run.
func (p *Process) Close() {
	for which := range p.timers {
		p.SetTimer(uint32(which), 0, 0)
	}
	for addr := range p.mappings {
		p.mappings[addr].file.Close()
	}
	clear(p.mappings)
	p.fds.closeAll()
}
