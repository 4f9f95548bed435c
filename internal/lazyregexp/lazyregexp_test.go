package lazyregexp

import (
	"sync"
	"testing"
)

func TestFirstUse(t *testing.T) {
	inTest = false
	defer func() { inTest = true }()
	r := New(`^a+$`)
	if r.re != nil {
		t.Error("New compiles")
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if !r.MatchString("aa") || r.MatchString("ab") {
				t.Error("it does not match as its expression does")
			}
		})
	}
	all.Wait()
	bad := New(`(`)
	defer func() {
		if recover() == nil {
			t.Error("no panic where the expression is used")
		}
	}()
	bad.MatchString("")
}

// A package whose expression does not compile fails in its own tests.
func TestBadExpressionInTests(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	New(`(`)
}
