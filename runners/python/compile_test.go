package python

import (
	"context"
	"testing"

	"coderunner/runners/python/requirement"
	"coderunner/runners/python/resolver"
)

// TestCompiled: what a program's imports run is compiled before, the rest only when that
// is asked for, and no bytecode is used for another package's file of the same name.
func TestCompiled(t *testing.T) {
	x := newIndex(t)
	x.add(pure("lone", "1.0", map[string]string{
		"lone/__init__.py": "from . import near\ndef f():\n  from . import far\n",
		"lone/near.py":     "", "lone/far.py": "", "lone/wrong.py": "print 'old'",
		"lone/tests/__init__.py": "",
	}))
	x.add(pure("one", "1.0", map[string]string{"one.py": "", "same.py": "x = 'one'\n"}))
	x.add(pure("zwei", "1.0", map[string]string{"zwei.py": "import same\n", "same.py": "x = 'zwei'\n"}))
	dir := t.TempDir()
	r := x.newRunner(base{}, false, dir)
	const compiled = `
import importlib.util, os
[m for m in ('lone', 'lone.near', 'lone.far', 'lone.wrong', 'lone.tests') if os.path.exists(importlib.util.find_spec(m).cached)]`
	value(t, run(t, r, "import lone"+compiled), "['lone', 'lone.near']")
	// Another process, another import of the same package.
	r = x.newRunner(base{}, false, dir)
	value(t, run(t, r, "from lone import far"+compiled), "['lone', 'lone.near', 'lone.far']")

	r = x.newRunner(base{}, false, dir)
	value(t, run(t, r, "import zwei\nzwei.same.x"), "'zwei'")
	value(t, run(t, r, "import importlib, one\nimportlib.import_module(''.join('same')).x", "one", "zwei"), "'one'")

	set, err := r.open.engine.own.Prepare(t.Context(), resolver.Request{Requirements: []requirement.Requirement{{Name: "lone"}}})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time there is nothing to do
		if err := r.open.engine.own.Rest(context.Background(), &set.Packages[0], nil); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(set.Packages[0].Bytecode); n != 2 {
		t.Errorf("%d parts, want those of two runs: the rest does not compile", n)
	}
}
