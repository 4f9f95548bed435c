package rewrite

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// TestRandomModules generates programs full of tries, branches and calls, and
// compares what their rewritten modules compute with what the programs mean,
// which model_test.go says in Go. RANDOM_MODULES sets how many, RANDOM_SEED
// where to begin.
func TestRandomModules(t *testing.T) {
	n, first := seeds(300, 60)
	var total model
	var stats Stats
	for seed := first; seed < first+n && !t.Failed(); seed++ {
		p := generate(rand.New(rand.NewPCG(uint64(seed), 7)))
		in := p.encode()
		for _, o := range []Options{{Fuel: -1}, {Fuel: 2}, {Fuel: 3, forks: 1}} {
			out, info, err := Module(in, o)
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			stats.Tries += info.Stats.Tries
			stats.Parts += info.Stats.Parts
			compare(t, seed, p, out, &total)
		}
	}
	if total.thrown < n || total.caught < n || total.rethrown < n/10 || total.delegated < n/10 {
		t.Errorf("the programs do too little: %d thrown, %d caught, %d rethrown, %d delegated",
			total.thrown, total.caught, total.rethrown, total.delegated)
	}
	if stats.Parts < 10*n {
		t.Errorf("%d parts in %d modules", stats.Parts, n)
	}
	t.Logf("%d modules, %d tries, %d parts; %d thrown, %d caught, %d rethrown, %d delegated",
		n, stats.Tries, stats.Parts, total.thrown, total.caught, total.rethrown, total.delegated)
}

func compare(t *testing.T, seed int, p *program, out []byte, total *model) {
	t.Helper()
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigCompiler().WithCoreFeatures(plainFeatures))
	defer r.Close(ctx)
	m, err := r.Instantiate(ctx, out)
	if err != nil {
		t.Errorf("seed %d: %v", seed, err)
		return
	}
	laid, closeLaid := laidOut(t, out)
	defer closeLaid()
	for x := range int32(8) {
		ref := model{p: p}
		want := ref.main(x)
		total.thrown += ref.thrown
		total.caught += ref.caught
		total.rethrown += ref.rethrown
		total.delegated += ref.delegated
		for _, m := range []api.Module{m, laid} {
			res, err := m.ExportedFunction("main").Call(ctx, uint64(uint32(x)))
			if err != nil {
				t.Errorf("seed %d, x %d: %v", seed, x, err)
				return
			}
			if got := int32(res[0]); got != want {
				t.Errorf("seed %d, x %d: %d, want %d", seed, x, got, want)
				return
			}
		}
	}
}

// generator makes a program. Every statement leaves the operand stack as it was.
type generator struct {
	*rand.Rand
	nf     int
	left   int
	labels []*stmt // enclosing statements, the innermost last
	part   []bool  // whether it is the handler of each that is being made
}

func generate(r *rand.Rand) *program {
	p := &program{}
	n := 2 + r.IntN(4)
	for range n {
		g := &generator{Rand: r, nf: n, left: 60}
		p.funcs = append(p.funcs, g.stmts(5))
	}
	return p
}

func (g *generator) value() value {
	return value{kind: g.IntN(3), n: int32(g.IntN(100))}
}

// cond is true for half of the values or fewer.
func (g *generator) cond() value {
	return value{kind: valueBit, n: int32(1) << g.IntN(4), of: 1 + g.IntN(2)}
}

func (g *generator) stmts(depth int) (out []*stmt) {
	for range 1 + g.IntN(4) {
		out = append(out, g.stmt(depth))
	}
	return out
}

func (g *generator) block(s *stmt, depth int, handler bool) []*stmt {
	g.labels, g.part = append(g.labels, s), append(g.part, handler)
	out := g.stmts(depth - 1)
	g.labels, g.part = g.labels[:len(g.labels)-1], g.part[:len(g.part)-1]
	return out
}

func (g *generator) stmt(depth int) *stmt {
	s := &stmt{kind: doMix, v: g.value()}
	if g.left--; g.left < 0 || depth <= 0 {
		return s
	}
	if slices.Contains(g.part, true) && g.IntN(5) == 0 {
		g.rethrow(s)
		return s
	}
	switch g.IntN(16) {
	case 0:
		s.kind = doSetLocal
	case 1, 2:
		s.kind, s.typed = doBlock, g.IntN(2) == 0
		s.body = g.block(s, depth, false)
	case 3:
		s.kind = doLoop
		s.body = g.block(s, depth, false)
	case 4:
		s.kind, s.v = doIf, g.cond()
		s.body = g.block(s, depth, false)
		s.other = g.block(s, depth, false)
	case 5, 6:
		g.branch(s)
	case 7:
		s.kind, s.tag, s.c = doThrow, g.IntN(len(tagPayload)), g.cond()
		s.always = g.IntN(3) == 0
	case 8, 9, 10:
		s.kind, s.fn, s.how = doCall, g.IntN(g.nf), g.IntN(2)
	case 11:
		s.kind, s.c, s.how = doReturn, g.cond(), g.IntN(3)
		s.fn = g.IntN(g.nf)
	default:
		g.try(s, depth)
	}
	return s
}

func (g *generator) branch(s *stmt) {
	if len(g.labels) == 0 {
		return
	}
	s.kind, s.c, s.label = doBranch, g.cond(), g.IntN(len(g.labels))
	if g.IntN(3) > 0 || g.labels[len(g.labels)-1-s.label].hasResult() {
		return
	}
	for range 3 { // a table of labels without a value
		if l := g.IntN(len(g.labels)); !g.labels[len(g.labels)-1-l].hasResult() {
			s.table = append(s.table, l)
		}
	}
}

func (g *generator) rethrow(s *stmt) {
	var ok []int
	for l := range g.labels {
		if g.part[len(g.labels)-1-l] {
			ok = append(ok, l)
		}
	}
	if len(ok) > 0 {
		s.kind, s.c, s.label = doRethrow, g.cond(), ok[g.IntN(len(ok))]
	}
}

func (g *generator) try(s *stmt, depth int) {
	s.kind, s.typed, s.param = doTry, g.IntN(2) == 0, g.IntN(3) == 0
	s.body = g.block(s, depth, false)
	if g.IntN(4) == 0 {
		s.delegate, s.label = true, g.IntN(len(g.labels)+1)
		return
	}
	for _, tag := range g.Perm(len(tagPayload))[:g.IntN(3)] {
		s.clauses = append(s.clauses, catch{tag: tag, body: g.block(s, depth, true)})
	}
	if g.IntN(2) == 0 {
		s.clauses = append(s.clauses, catch{tag: -1, body: g.block(s, depth, true)})
	}
}
