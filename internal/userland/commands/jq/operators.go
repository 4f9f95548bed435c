package jq

import (
	"maps"
	"sync"

	"github.com/itchyny/gojq"
)

// operators are the functions that stand for operators in a rewritten filter.
func (l *limits) operators() []gojq.CompilerOption {
	compared := func(name string, holds func(order int) bool) gojq.CompilerOption {
		return gojq.WithFunction(name, 2, 2, func(_ any, args []any) any {
			if err := l.comparable(args[0], args[1]); err != nil {
				return err
			}
			return holds(gojq.Compare(args[0], args[1]))
		})
	}
	return []gojq.CompilerOption{
		compared("_equals", func(order int) bool { return order == 0 }),
		compared("_differs", func(order int) bool { return order != 0 }),
		compared("_more", func(order int) bool { return order > 0 }),
		compared("_fewer", func(order int) bool { return order < 0 }),
		compared("_atleast", func(order int) bool { return order >= 0 }),
		compared("_atmost", func(order int) bool { return order <= 0 }),
		gojq.WithFunction("_plus", 2, 2, func(_ any, args []any) any { return l.plus(rounded(args[0]), rounded(args[1])) }),
		gojq.WithFunction("_minus", 2, 2, func(_ any, args []any) any { return l.minus(rounded(args[0]), rounded(args[1])) }),
		gojq.WithFunction("_times", 2, 2, func(_ any, args []any) any { return l.times(rounded(args[0]), rounded(args[1])) }),
	}
}

// few is the number of values that are compared without a look at both sides.
const few = 64

// comparable reports why gojq must not compare two values. It goes as deep as the
// less deep one.
func (l *limits) comparable(a, b any) error {
	if size(a, few) < few || size(b, few) < few {
		return nil
	}
	w := walk{l: l}
	return w.fits(a, 0)
}

// operator returns an operator of gojq.
func evaluator(op string) func(l, r any) any {
	code := sync.OnceValues(func() (*gojq.Code, error) {
		q, err := gojq.Parse("$l " + op + " $r")
		if err != nil {
			return nil, err
		}
		return gojq.Compile(q, gojq.WithVariables([]string{"$l", "$r"}))
	})
	return func(l, r any) any {
		c, err := code()
		if err != nil {
			return err
		}
		v, _ := c.Run(nil, l, r).Next()
		return v
	}
}

var addition, subtraction, multiplication = evaluator("+"), evaluator("-"), evaluator("*")

// half reports whether a number is small enough for sums and products of two that do
// not overflow.
func half(n int) bool { return int(int32(n)) == n }

// plus is the operator +.
func (l *limits) plus(a, b any) any {
	switch a := a.(type) {
	case int:
		if b, ok := b.(int); ok && half(a) && half(b) {
			return a + b
		}
	case float64:
		if b, ok := b.(float64); ok {
			return a + b
		}
	case string:
		if b, ok := b.(string); ok {
			if err := l.room(len(a) + len(b)); err != nil {
				return err
			}
			return a + b
		}
	case []any:
		if b, ok := b.([]any); ok && len(a) > 0 && len(b) > 0 {
			if err := l.room(16 * (len(a) + len(b))); err != nil {
				return err
			}
			return append(append(make([]any, 0, len(a)+len(b)), a...), b...)
		}
	case map[string]any:
		if b, ok := b.(map[string]any); ok && len(a) > 0 && len(b) > 0 {
			if err := l.room(64 * (len(a) + len(b))); err != nil {
				return err
			}
			if len(a)+len(b) <= few {
				l.order.union([]any{a, b})
			}
			sum := maps.Clone(a)
			maps.Copy(sum, b)
			return sum
		}
	}
	return addition(a, b)
}

// minus is the operator -.
func (l *limits) minus(a, b any) any {
	switch a := a.(type) {
	case int:
		if b, ok := b.(int); ok && half(a) && half(b) {
			return a - b
		}
	case float64:
		if b, ok := b.(float64); ok {
			return a - b
		}
	case []any:
		if b, ok := b.([]any); ok {
			if err, bad := l.pair(a, []any{b}).(error); bad {
				return err
			}
		}
	}
	return subtraction(a, b)
}

// times is the operator *.
func (l *limits) times(a, b any) any {
	switch a := a.(type) {
	case int:
		if b, ok := b.(int); ok && half(a) && half(b) {
			return a * b
		}
	case float64:
		if b, ok := b.(float64); ok {
			return a * b
		}
	case map[string]any:
		if err, bad := l.fits(a, nil).(error); bad {
			return err
		}
		if b, ok := b.(map[string]any); ok && len(a)+len(b) <= few {
			l.order.union([]any{a, b})
		}
	}
	if s, ok := b.(string); ok {
		a, b = any(s), a
	}
	if s, ok := a.(string); ok {
		if n, ok := gojq.ToFloat64(b); ok && n > 1 {
			if err := l.room(int(min(n, 1<<31) * float64(len(s)))); err != nil {
				return err
			}
		}
	}
	return multiplication(a, b)
}
