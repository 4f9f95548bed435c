package python

import (
	"container/list"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"

	"coderunner/pyodide"
	"coderunner/runners/python/requirement"
	"coderunner/runners/python/resolver"
)

// Only the interpreter that has parsed a program knows what it imports, and by
// then the program is in an interpreter without it. So what programs came to
// is remembered, and the next one with the same import statements begins on
// the same snapshot. When the interpreter has parsed it, the guess is confirmed
// or the program begins again as if there had been none: a wrong guess costs
// time and nothing else.

// errGuess ends the look at a program that begins again without a guess.
var errGuess = errors.New("the program does not import what it was thought to")

// maxPlans bounds what is remembered.
const maxPlans = 2048

// plan is what a program came to.
type plan struct {
	modules []string           // of the recipe
	recipe  string             // its key
	steps   []resolver.Request // what was installed for its imports, in this order
}

// plans remembers plans. It is safe for concurrent use.
type plans struct {
	mu    sync.Mutex
	byKey map[string]*list.Element
	order list.List       // of planEntry, the one used last in front
	known map[string]bool // names that programs have imported from packages
}

type planEntry struct {
	key  string
	plan *plan // nil where none is known to be right
}

// keys gives two names for a program: the first names it along with the packages that it was given, and names
// names its import statements as far as they are about packages.
func (p *plans) keys(j *job) (program, names string) {
	given, err := json.Marshal([]any{requirement.Key(j.reqs), j.locked, j.zoned()})
	if err != nil {
		panic(err) // strings only
	}
	sum := sha256.Sum256([]byte(j.req.Code))
	imported := slices.DeleteFunc(scanImports(j.req.Code), func(name string) bool { return !p.known[name] })
	if len(imported) > 0 {
		names = strings.Join(imported, " ") + " " + string(given)
	}
	return string(sum[:]) + string(given), names
}

// find gives the plan for a program, or nil.
func (p *plans) find(j *job) *plan {
	p.mu.Lock()
	defer p.mu.Unlock()
	program, names := p.keys(j)
	for _, key := range []string{program, names} {
		if e := p.byKey[key]; e != nil {
			p.order.MoveToFront(e)
			return e.Value.(planEntry).plan
		}
	}
	return nil
}

// note remembers the plan of a program that imports these.
func (p *plans) note(j *job, wanted []pyodide.Import, its *plan) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known == nil || len(p.known) > 4*maxPlans {
		p.known = map[string]bool{}
	}
	for _, w := range wanted {
		p.known[w.Name] = true
	}
	program, names := p.keys(j)
	p.put(program, its)
	if names != "" {
		p.put(names, its)
	}
}

// wrong notes that what find gave was not the program's plan.
func (p *plans) wrong(j *job) {
	p.mu.Lock()
	defer p.mu.Unlock()
	program, _ := p.keys(j)
	p.put(program, nil)
}

func (p *plans) put(key string, its *plan) {
	if e := p.byKey[key]; e != nil {
		e.Value = planEntry{key, its}
		p.order.MoveToFront(e)
		return
	}
	if p.byKey == nil {
		p.byKey = map[string]*list.Element{}
	}
	p.byKey[key] = p.order.PushFront(planEntry{key, its})
	if p.order.Len() > maxPlans {
		delete(p.byKey, p.order.Remove(p.order.Back()).(planEntry).key)
	}
}

// scanImports finds the lines that look like import statements and gives the
// modules that they name, sorted.
func scanImports(code string) []string {
	found := map[string]bool{}
	for line := range strings.Lines(code) {
		line = strings.TrimLeft(line, " \t")
		if rest, ok := strings.CutPrefix(line, "from "); ok {
			if fields := strings.Fields(rest); len(fields) > 1 && fields[1] == "import" {
				found[fields[0]] = true
			}
			continue
		}
		rest, ok := strings.CutPrefix(line, "import ")
		if !ok {
			continue
		}
		if end := strings.IndexAny(rest, "#;"); end >= 0 {
			rest = rest[:end]
		}
		for name := range strings.SplitSeq(rest, ",") {
			if fields := strings.Fields(name); len(fields) > 0 {
				found[fields[0]] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// guess installs what the program is thought to import and finds the snapshot
// that has it. If that is not as easy as it was before, there is no guess.
func (j *job) guess(ctx context.Context) {
	if j.only || j.own() || usesMicropip.MatchString(j.req.Code) {
		return
	}
	its := j.engine.plans.find(j)
	if its == nil {
		return
	}
	j.given = maps.Clone(j.installed)
	j.plan = its
	for _, step := range its.steps {
		if j.installWith(ctx, step) != nil {
			j.forgetSnapshot()
			return
		}
	}
	r := recipe{its.modules, j.mounts()}
	if r.key() == its.recipe {
		j.frozen, j.release = j.engine.snapshots.ready(ctx, r, j.needs())
	}
	if j.frozen == nil {
		j.forgetSnapshot()
	}
}

// forgetSnapshot gives the snapshot back; if it was a guess, the job is what it
// was before.
func (j *job) forgetSnapshot() {
	if j.release != nil {
		j.release()
	}
	j.frozen, j.release = nil, nil
	if j.plan == nil {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.installed, j.plan, j.given, j.steps, j.skipped = j.given, nil, nil, nil, nil
}
