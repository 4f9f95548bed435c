package deno

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"coderunner/runners"
	"coderunner/runners/deno/deps"
	"coderunner/runners/deno/ending"
	"coderunner/runners/deno/jsparse"
	"coderunner/runners/deno/program"
	"coderunner/runners/deno/stacktrace"
	"coderunner/runners/toolbox"
)

// earlier is a program of a session that was run, to be run again where its process
// is gone. See RATIONALE.md.
type earlier struct {
	Language runners.Language   `json:"language"`
	Code     string             `json:"code"`
	Filename string             `json:"filename,omitempty"`
	Packages []string           `json:"packages,omitempty"`
	Args     []string           `json:"args,omitempty"`
	Stdin    string             `json:"stdin,omitempty"`
	Tools    []toolbox.Exchange `json:"tools,omitempty"`
	Failed   bool               `json:"failed,omitempty"`
	Names    []string           `json:"names,omitempty"` // of the variables after it

	// Files are what the working directory had before it, without their contents. It is nil
	// if that is not known.
	Files []runners.SessionFile `json:"files"`
}

// programsName is the file in Session.Save.
const programsName = "programs.json"

// Bounds of what is run again.
const (
	maxEarlier      = 200
	maxEarlierBytes = 8 << 20
	maxEarlierStdin = 64 << 10
	maxSessionCode  = 16 << 20        // bytes of the session's files that are read for imports
	replayLimit     = 5 * time.Minute // for all together
)

// continueSession runs a program of a session.
func (r *Runner) continueSession(ctx context.Context, req runners.Request) (*runners.Outcome, error) {
	var tools *toolbox.Recording
	if req.Tools != nil {
		tools = &toolbox.Recording{Most: maxEarlierBytes}
		req.Tools = tools.Record(req.Tools)
	}
	j, err := r.job(req)
	if err != nil {
		return nil, err
	}
	held, release := r.Config.Cache.Hold(ctx)
	k, _ := r.sessions.Get(ctx, req.Session.Key) // nil if there is none; it never fails
	if k != nil && (k.state != req.Session.Before || !k.Alive()) {
		k.close()
		k = nil
	}
	s := &continuing{Runner: r, job: j, tools: tools, k: k, release: release, report: runners.Continued{Origin: runners.OriginLive}}
	o, err := s.run(held)
	if s.k != nil {
		r.sessions.Put(s.k.key, s.k)
	}
	if s.release != nil {
		s.release()
	}
	if o != nil {
		o.Continued = &s.report
	}
	return o, err
}

// continuing is a program of a session in progress.
type continuing struct {
	*Runner
	*job
	tools   *toolbox.Recording // nil: there are none
	k       *kept              // its process; nil: none can be kept
	earlier []earlier          // what it continues
	release func()             // of the hold on the cache, nil if the process has it
	report  runners.Continued
}

func (s *continuing) run(ctx context.Context) (*runners.Outcome, error) {
	if err := s.prepare(ctx); err != nil {
		return s.finish(ctx, err)
	}
	defer func() { s.Runner.leases.Fill(s.job.key) }()
	if s.k != nil && !s.fits() {
		s.k.close()
		s.k = nil
	}
	if s.k == nil {
		if err := s.begin(ctx); err != nil {
			if ctx.Err() != nil {
				return runners.CancelledOutcome(), nil
			}
			return nil, err
		}
	}
	if err := s.k.arrangeFiles(s.req.Session.Files, s.Files); err != nil {
		return nil, s.drop(err)
	}
	s.k.Dir.Restamp(s.Files)
	end, err := s.call(ctx, s.k, s.job)
	if err != nil {
		return nil, s.drop(err)
	}
	own := runners.File{Path: s.Main, Data: []byte(s.Program.Edited())}
	left, err := s.k.Dir.Left(s.req.Session, own, nil)
	if err != nil {
		return nil, s.drop(err)
	}
	end.Files, end.FilesOmitted = left.Changed, left.Omitted
	if !slices.ContainsFunc(left.All, func(f runners.SessionFile) bool { return f.Path == s.Main }) {
		s.k.Dir.Remove(s.Main)
	}
	o := end.Outcome()
	end.Release(o)
	o.Packages, o.Usage = append(o.Packages, s.ready.Installed...), end.Used
	s.Runner.reached(o, s.net, end.Report.Refused)
	s.placed(o)
	s.job.explain(o)
	return o, s.keep(end, o.Status == runners.Succeeded, left.All)
}

// drop ends the process after an error of ours.
func (s *continuing) drop(err error) error {
	s.k.close()
	s.k = nil
	return err
}

// prepare finds what the session's programs and files import, all together, and
// installs it.
func (s *continuing) prepare(ctx context.Context) error {
	saved, err := map[string]string(nil), error(nil)
	if s.k != nil {
		s.earlier = s.k.earlier
	} else if saved, err = s.req.Session.Saved(); err != nil {
		return err
	} else if name := saved[programsName]; name != "" {
		data, err := os.ReadFile(name)
		if err == nil {
			err = json.Unmarshal(data, &s.earlier)
		}
		if err != nil {
			return fmt.Errorf("read the session's programs: %w", err)
		}
	}
	var modules []deps.Module
	for _, e := range s.earlier {
		req := e.request(s.req)
		a, err := program.Analyze(req, s.Runner.Config.Policy)
		if err != nil {
			return err
		}
		modules = append(modules, deps.Module{Path: a.Main, Program: a.Program})
		s.Pinned = append(s.Pinned, a.Pinned...)
	}
	if err := s.Resolve(slices.Concat(s.sessionCode(), s.req.Files), modules...); err != nil {
		return err
	}
	return s.install(ctx, s.job)
}

// request returns the request of an earlier program.
func (e earlier) request(now runners.Request) runners.Request {
	req := runners.Request{
		Language: e.Language, Code: e.Code, Filename: e.Filename, Packages: e.Packages, Args: e.Args,
		Stdin: strings.NewReader(e.Stdin), Limits: now.Limits, Session: now.Session,
	}
	if len(e.Tools) > 0 {
		req.Tools = toolbox.Replay(e.Tools)
	}
	return req
}

// sessionCode returns the files of the session that programs import, and the
// configurations that say how.
func (s *continuing) sessionCode() (files []runners.File) {
	total := int64(0)
	for _, f := range s.req.Session.Files {
		base := path.Base(f.Path)
		code := slices.Contains(program.Extensions, path.Ext(base)) || slices.Contains([]string{"deno.json", "deno.jsonc", "package.json", "tsconfig.json"}, base)
		given := slices.ContainsFunc(s.req.Files, func(g runners.File) bool { return g.Path == f.Path })
		if total += f.Size; !f.Mode.IsRegular() || !code || given || f.Path == s.Main || total > maxSessionCode {
			continue
		}
		if data, err := os.ReadFile(f.Source); err == nil {
			files = append(files, runners.File{Path: f.Path, Data: data})
		}
	}
	return files
}

// fits reports whether the process has what the program needs.
func (s *continuing) fits() bool {
	root := s.k.Dir.Open()
	if root == nil {
		return false // a program has removed its working directory
	}
	root.Close()
	have, want := s.k.Variant, s.variant()
	return have.Binary == want.Binary && have.Ready.Dir == want.Ready.Dir && have.Merged == want.Merged && have.Memory >= want.Memory
}

// begin starts a process, and runs the session's earlier programs in it.
func (s *continuing) begin(ctx context.Context) error {
	before := s.req.Session.Before
	switch {
	case before == "":
		s.report.Origin = runners.OriginFresh
	case len(s.earlier) == 0:
		s.report.Origin, s.report.Lost = runners.OriginLost, "the process that had them has ended, and its programs cannot be run again"
	default:
		s.report.Origin = runners.OriginReplayed
	}
	err := s.start(ctx)
	if err != nil || s.report.Origin != runners.OriginReplayed {
		return err
	}
	left := s.Runner.replayLimit
	for i := range s.earlier {
		s.req.Progress.Report(runners.Progress{Phase: "replay", Item: "earlier calls", Done: int64(i), Total: int64(len(s.earlier))})
		why, err := s.replay(ctx, i, &left)
		if err != nil {
			return err
		}
		if why == "" {
			continue
		}
		s.report.Origin, s.report.Lost = runners.OriginLost, fmt.Sprintf("call %d, run again, %s", i+1, why)
		s.earlier = nil
		s.k.close()
		return s.start(ctx)
	}
	if s.k.files, err = s.k.present(); err != nil {
		return s.drop(err)
	}
	return nil
}

// start starts a process for the session.
func (s *continuing) start(ctx context.Context) error {
	s.k = nil
	in, err := s.instance(ctx)
	if err != nil {
		return err
	}
	release := s.release
	if s.release = nil; release == nil {
		release = func() {}
	}
	s.k = &kept{Instance: in, names: map[string]int{}, scripts: map[string]stacktrace.Script{}, key: s.req.Session.Key, release: release}
	return in.Dir.Place(s.layout)
}

// call runs a program in the process.
func (s *continuing) call(ctx context.Context, k *kept, j *job) (*ending.Ending, error) {
	j.script = j.Main
	if k.names[j.Main]++; k.names[j.Main] > 1 {
		j.script += "#" + strconv.Itoa(k.names[j.Main])
	}
	k.scripts[j.script] = stacktrace.NewScript(j.Shown, j.Program)
	j.scripts = k.scripts
	j.nonce, j.fresh, j.again = rand.Text(), true, k.calls > 0
	var own []runners.File
	if !j.req.Session.Unnamed || j.Program.Own {
		own = []runners.File{{Path: j.Main, Data: []byte(j.Program.Edited())}}
	}
	if err := k.arrangeFiles(k.files, own); err != nil {
		return nil, err
	}
	if k.calls++; j.again {
		k.Before.CPU = k.Process.Usage().CPU
		if err := k.Process.Resume(); err != nil {
			return nil, fmt.Errorf("resume the session's process: %w", err)
		}
	}
	end := j.attend(ctx, k.Instance, false)
	k.Workers = k.Workers || end != nil && end.Workers
	return end, nil
}

// keep keeps the process and writes what another one needs to Session.Save.
func (s *continuing) keep(end *ending.Ending, succeeded bool, files []runners.SessionFile) error {
	session := s.req.Session
	s.report.Variables, s.report.VariablesOmitted = end.Report.Variables()
	if !end.Paused || !end.Report.Over() || session.Rollback && !succeeded {
		return s.drop(nil)
	}
	k := s.k
	calls, whole := s.tools.Exchanges()
	k.state, k.files = session.After, files
	k.earlier = append(slices.Clip(s.earlier), earlier{
		Language: s.req.Language, Code: s.req.Code, Filename: s.req.Filename, Packages: s.req.Packages, Args: s.req.Args,
		Stdin: string(s.stdin.taken()), Tools: calls, Failed: end.ExitCode != 0, Names: end.Report.Names(), Files: s.given(),
	})
	s.report.Kept = true
	switch last := k.earlier[len(k.earlier)-1]; {
	case k.unsaved != "":
	case len(last.Stdin) > maxEarlierStdin:
		k.unsaved = "a program had more input than is kept"
	case !whole:
		k.unsaved = "its tools returned more than is kept"
	case len(k.earlier) > maxEarlier:
		k.unsaved = fmt.Sprintf("it has more than %d calls", maxEarlier)
	}
	if s.report.Unsaved = k.unsaved; k.unsaved != "" {
		return nil
	}
	data, err := json.Marshal(k.earlier)
	if err == nil && len(data) > maxEarlierBytes {
		k.unsaved = fmt.Sprintf("its programs have more than %d MiB", maxEarlierBytes>>20)
		s.report.Unsaved = k.unsaved
		return nil
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(session.Save, programsName), data, 0o600)
	}
	if err != nil {
		return fmt.Errorf("save the session's programs: %w", err)
	}
	return nil
}

// Incomplete reports whether a program seems to go on after its end.
func Incomplete(code string) bool { return jsparse.Incomplete(code) }
