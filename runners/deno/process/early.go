package process

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"
)

// Processes that wait may have the packages loaded that programs of a server import first.
// Loading lodash takes ten times as long as the program that uses it. A set of packages
// (exactly these imports, with the policy, the limits and the modules of Node that are
// changed for them) is loaded early when it is used for the second time and a trial has found
// nothing that a package would do otherwise, or too early, without a program:
//
//	use ─> second use ─> trial ─> fit: its processes load it and wait
//	                           └> unfit: they wait without, the reason is logged
//
// A trial is a process that loads the packages and runs no program. Deno writes down what they
// ask permission for, the bootstrap what they read and start (early.js). What asks for the time
// is tried once more, an hour later: if then it exports the same, its processes wait, but not
// for long. Each process that waits is looked at, too: what has printed anything, or left a
// file, is not used. It is stopped until it has a program, so that no package has time of its
// own.

// Early are the packages that a process loads before there is a program.
type Early struct {
	Load    []string // their specifiers, in the order of the imports
	Main    string   // the name of the program's file
	Modules []string // of Node that are changed before
	Clock   bool     // they ask for the time

	trial bool
	later time.Duration // by how much the clock of a trial is ahead
}

// earlyTask is what the bootstrap is told about them.
type earlyTask struct {
	Load    []string `json:"load"`
	Main    string   `json:"main"` // its URL
	Modules []string `json:"modules,omitempty"`
	Watch   bool     `json:"watch"`
	Later   int64    `json:"later"` // in milliseconds
}

// findings are what the bootstrap answers.
type findings struct {
	Found []string `json:"found"` // what speaks against loading them early
	Clock bool     `json:"clock"` // they have asked for the time
	Print string   `json:"print"` // a digest of what they export
}

const (
	// earlyUses is the use of a set that has it tried.
	earlyUses = 2
	// earlyLimit bounds the loading of packages.
	earlyLimit = 15 * time.Second
	// maxEarly bounds the memory of one process with packages that waits, in bytes.
	maxEarly = 192 << 20
	// anHour is how far the clocks of two trials are apart.
	anHour = time.Hour
	// maxFindings bounds what a process answers, in bytes.
	maxFindings = 64 << 10
	// auditVariable has Deno write into a file what is asked permission for.
	auditVariable = "DENO_AUDIT_PERMISSIONS"
)

func (e *Early) key() string {
	if e == nil {
		return ""
	}
	return fmt.Sprint(len(e.Load), e.Load, e.Main, e.Modules)
}

// UnfitError is why packages are not loaded before there is a program.
type UnfitError struct{ Reasons []string }

func (e *UnfitError) Error() string { return "they " + strings.Join(e.Reasons, ", ") }

// unfit reports whether an error is an *UnfitError.
func unfit(err error) bool {
	_, ok := errors.AsType[*UnfitError](err)
	return ok
}

// verdict is what is known of a set of packages.
type verdict struct {
	uses int
	fit  *Early // nil: they are not loaded early
}

// earlyKey returns the key of the verdict on a variant's early packages, "" if they are never
// loaded early: who may start other programs starts some that cannot be undone.
func (l *Leases) earlyKey(v Variant, e *Early) string {
	if l.Pool == nil || e == nil || v.Session || v.Asks || Unconfined(l.Config.Policy) {
		return ""
	}
	return l.variantKey(v) + e.key()
}

// Early returns e if the processes of the variant load it early, else nil.
func (l *Leases) Early(v Variant, e *Early) *Early {
	known, _ := l.verdicts.Get(l.earlyKey(v, e))
	return known.fit
}

// UsedEarly records that a program ran that could have had packages loaded early, and may
// start the trial of them in the background. Without databases packages are loaded in another
// way (see loadFirst in bootstrap.js).
func (l *Leases) UsedEarly(v Variant, e *Early) {
	v.Early = nil
	key := l.earlyKey(v, e)
	if key == "" || l.Databases(v) == "" {
		return
	}
	known := l.verdicts.Update(key, func(known verdict) verdict {
		known.uses++
		return known
	})
	if known.uses == earlyUses {
		l.Background.Go(func() { l.try(v, e, key) })
	}
}

// try loads packages on trial, and keeps what came of it.
func (l *Leases) try(v Variant, e *Early, key string) {
	now, err := l.trial(v, *e, 0)
	if err == nil && now.Clock {
		var later findings
		if later, err = l.trial(v, *e, anHour); err == nil && later.Print != now.Print {
			err = &UnfitError{[]string{"export something that depends on the time"}}
		}
	}
	switch {
	case err == nil:
		e.Clock = now.Clock
		l.verdicts.Put(key, verdict{uses: earlyUses, fit: e})
		l.Log.Debug("packages are loaded before their programs", zap.Strings("packages", e.Load))
		l.DropVariant(v)
		v.Early = e
		l.Begin(v)
	case l.ctx.Err() == nil:
		l.leaveOut(key, e, err)
	}
}

// trial loads packages in a process that runs no program.
func (l *Leases) trial(v Variant, e Early, later time.Duration) (findings, error) {
	e.trial, e.later = true, later
	v.Early = &e
	in := l.Launch(l.ctx, v)
	<-in.started
	in.Discard()
	return in.found, in.err
}

// leaveOut keeps packages from being loaded early, and logs why.
func (l *Launcher) leaveOut(key string, e *Early, why error) {
	l.verdicts.Put(key, verdict{uses: earlyUses})
	l.Log.Info("packages are not loaded before their programs", zap.Strings("packages", e.Load), zap.String("reason", why.Error()))
}

// LeaveOut has the variant's processes load nothing early any more, since one could not.
func (l *Leases) LeaveOut(v Variant, why error) {
	e := v.Early
	v.Early = nil
	if key := l.earlyKey(v, e); key != "" {
		l.leaveOut(key, e, why)
	}
}

// boundEarly bounds how long a new process with packages waits, and ends those that were
// started first while all that wait together have more memory than they may.
func (l *Leases) boundEarly(in *Instance) {
	if in.Variant.Early.Clock {
		time.AfterFunc(l.ClockLimit, func() { l.Pool.Remove(in.Key, in) })
	}
	waiting := slices.DeleteFunc(l.Pool.Ready(), func(in *Instance) bool {
		return in.Variant.Early == nil || !in.ready() || in.err != nil
	})
	slices.SortFunc(waiting, func(a, b *Instance) int { return b.Launched.Compare(a.Launched) })
	var all int64
	for _, in := range waiting {
		if all += in.Process.Resident(); all > l.EarlyMemory {
			l.Pool.Remove(in.Key, in)
		}
	}
}

// loadEarly has the process load its early packages. The error is an *UnfitError if that
// cannot stand for loading them with the program.
func (in *Instance) loadEarly() error {
	e, p := in.Variant.Early, in.Process
	if in.cold() {
		return &UnfitError{[]string{"have no databases"}}
	}
	var done int64
	if info, err := os.Stat(in.Dir.audit()); err == nil {
		done = info.Size()
	}
	task := earlyTask{Load: e.Load, Main: FileURL(filepath.Join(in.Dir.Work(), e.Main)), Modules: e.Modules, Watch: e.trial, Later: e.later.Milliseconds()}
	if err := WriteFrame(p.Stdin, task); err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(context.Background(), earlyLimit)
	defer stop()
	in.Background.Go(func() { p.Watch(ctx, in.Dir.Path) })
	if err := in.readFindings(); err != nil {
		return &UnfitError{[]string{fmt.Sprintf("print, end the process, or take too long (%v)", err)}}
	}
	p.Hold() // what the packages have left waits, too
	reasons := in.found.Found
	if !p.Stdout.Silent() || !p.Stderr.Silent() || p.Report != nil && !p.Report.Silent() {
		reasons = append(reasons, "print")
	}
	for _, dir := range []string{in.Dir.Work(), in.Dir.Temp()} {
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			reasons = append(reasons, "write files")
		}
	}
	if n := p.Resident(); n > maxEarly {
		reasons = append(reasons, fmt.Sprintf("take %d MiB", n>>20))
	}
	if e.trial {
		more, err := in.audited(done)
		if err != nil {
			return err
		}
		reasons = append(reasons, more...)
	}
	if len(reasons) > 0 {
		return &UnfitError{reasons}
	}
	return nil
}

// readFindings reads what the bootstrap answers.
func (in *Instance) readFindings() error {
	var size int
	head := make([]byte, 8)
	if err := in.Process.Stdout.ReadFull(head, earlyLimit); err != nil {
		return err
	}
	if _, err := fmt.Sscanf(string(head), "%08x", &size); err != nil || size > maxFindings {
		return fmt.Errorf("%q instead of an answer", head)
	}
	text := make([]byte, size)
	if err := in.Process.Stdout.ReadFull(text, earlyLimit); err != nil {
		return err
	}
	return json.Unmarshal(text, &in.found)
}

// audited returns what of the permissions that the packages asked for speaks against loading
// them early: with a program, there would be its files, and its run for what they reach. What
// they read of themselves and of the environment is the same.
func (in *Instance) audited(from int64) (reasons []string, err error) {
	f, err := os.Open(in.Dir.audit())
	if err != nil {
		return nil, fmt.Errorf("read what packages ask for: %w", err)
	}
	defer f.Close()
	if _, err := f.Seek(from, io.SeekStart); err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(io.LimitReader(f, 16<<20))
	for lines.Scan() && len(reasons) < 10 {
		var asked struct{ Permission, Value string }
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			return nil, fmt.Errorf("read what packages ask for: %w", err)
		}
		if reason := asked.Permission + " " + asked.Value; !in.harmless(asked.Permission, asked.Value) && !slices.Contains(reasons, reason) {
			reasons = append(reasons, reason)
		}
	}
	return reasons, lines.Err()
}

// harmless reports whether a permission is asked for with the same answer at any time.
func (in *Instance) harmless(permission, value string) bool {
	switch permission {
	case "env", "import":
		return true
	case "sys":
		return !slices.Contains([]string{"loadavg", "osUptime", "systemMemoryInfo", "networkInterfaces"}, value)
	case "read", "write": // Deno writes down both where a policy allows everything; the kernel refuses to write
		ready := in.Variant.Ready
		own := slices.Concat(ready.Dirs, ready.Copies, []string{in.OwnDir, in.DenoDir})
		return value == "CWD" || value == "<CWD>" || slices.ContainsFunc(own, func(dir string) bool {
			return value == dir || strings.HasPrefix(value, dir+string(filepath.Separator))
		})
	}
	return false
}
