package arith

import (
	"math"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

func (a *arithmetic) unary(x *syntax.UnaryArithm) int64 {
	if x.Op == syntax.Inc || x.Op == syntax.Dec {
		t, old := a.target(x.X, true)
		n := old + 1
		if x.Op == syntax.Dec {
			n = old - 1
		}
		a.assign(t, n)
		if x.Post {
			return old
		}
		return n
	}
	n := a.eval(x.X)
	switch x.Op {
	case syntax.Not:
		return Truth(n == 0)
	case syntax.BitNegation:
		return ^n
	case syntax.Minus:
		return -n
	}
	return n
}

// compound are the operators of assignments that compute.
var compound = map[syntax.BinAritOperator]syntax.BinAritOperator{
	syntax.AddAssgn: syntax.Add, syntax.SubAssgn: syntax.Sub, syntax.MulAssgn: syntax.Mul, syntax.QuoAssgn: syntax.Quo,
	syntax.RemAssgn: syntax.Rem, syntax.AndAssgn: syntax.And, syntax.OrAssgn: syntax.Or, syntax.XorAssgn: syntax.Xor,
	syntax.ShlAssgn: syntax.Shl, syntax.ShrAssgn: syntax.Shr,
}

func (a *arithmetic) binary(x *syntax.BinaryArithm) int64 {
	if op, ok := compound[x.Op]; ok || x.Op == syntax.Assgn {
		t, old := a.target(x.X, ok)
		n := a.eval(x.Y)
		if ok {
			n = a.compute(op, old, n, x.Y)
		}
		return a.assign(t, n)
	}
	left := a.eval(x.X)
	switch x.Op {
	case syntax.AndArit:
		return Truth(left != 0 && a.eval(x.Y) != 0)
	case syntax.OrArit:
		return Truth(left != 0 || a.eval(x.Y) != 0)
	case syntax.TernQuest:
		branches, ok := x.Y.(*syntax.BinaryArithm)
		switch {
		case !ok:
			return a.fail("`:' expected for conditional expression", "")
		case left != 0:
			return a.eval(branches.X)
		}
		return a.eval(branches.Y)
	}
	return a.compute(x.Op, left, a.eval(x.Y), x.Y)
}

func (a *arithmetic) compute(op syntax.BinAritOperator, x, y int64, right syntax.ArithmExpr) int64 {
	switch op {
	case syntax.Add:
		return x + y
	case syntax.Sub:
		return x - y
	case syntax.Mul:
		return x * y
	case syntax.Quo, syntax.Rem:
		switch {
		case y == 0:
			return a.fail("division by 0", a.rest(right))
		case x == math.MinInt64 && y == -1 && op == syntax.Rem:
			return 0
		case op == syntax.Quo:
			return x / y
		}
		return x % y
	case syntax.Pow:
		if y < 0 {
			return a.fail("exponent less than 0", strings.TrimLeft(a.sourceOf(right), "-"))
		}
		n := int64(1)
		for ; y > 0; y >>= 1 {
			if y&1 != 0 {
				n *= x
			}
			x *= x
		}
		return n
	case syntax.Shl:
		return x << (uint64(y) & 63)
	case syntax.Shr:
		return x >> (uint64(y) & 63)
	case syntax.And:
		return x & y
	case syntax.Or:
		return x | y
	case syntax.Xor:
		return x ^ y
	case syntax.Eql:
		return Truth(x == y)
	case syntax.Neq:
		return Truth(x != y)
	case syntax.Lss:
		return Truth(x < y)
	case syntax.Leq:
		return Truth(x <= y)
	case syntax.Gtr:
		return Truth(x > y)
	case syntax.Geq:
		return Truth(x >= y)
	case syntax.Comma:
		return y
	}
	return a.fail("syntax error in expression", op.String())
}
