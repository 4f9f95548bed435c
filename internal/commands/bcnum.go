package commands

import (
	"math/big"
	"strings"
)

// bcNum is a decimal number of bc: n / 10^scale.
type bcNum struct {
	n     *big.Int
	scale int
}

// maxDigits bounds the numbers of bc.
const maxDigits = 1 << 16

func bcInt(n int64) bcNum { return bcNum{big.NewInt(n), 0} }

func tenTo(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }

// to returns the number with another scale, truncated.
func (x bcNum) to(scale int) bcNum {
	n := new(big.Int)
	if scale >= x.scale {
		n.Mul(x.n, tenTo(scale-x.scale))
	} else {
		n.Quo(x.n, tenTo(x.scale-scale))
	}
	return bcNum{n, scale}
}

func (x bcNum) cmp(y bcNum) int {
	s := max(x.scale, y.scale)
	return x.to(s).n.Cmp(y.to(s).n)
}

func (x bcNum) zero() bool { return x.n.Sign() == 0 }

// int returns the whole part as an int; a number too large for one is the largest.
func (x bcNum) int() int {
	n := x.to(0).n
	if !n.IsInt64() || n.Int64() > 1<<40 || n.Int64() < -1<<40 {
		return n.Sign() << 40
	}
	return int(n.Int64())
}

func (x bcNum) add(y bcNum) bcNum {
	s := max(x.scale, y.scale)
	return bcNum{new(big.Int).Add(x.to(s).n, y.to(s).n), s}
}

func (x bcNum) neg() bcNum { return bcNum{new(big.Int).Neg(x.n), x.scale} }

func (x bcNum) mul(y bcNum, scale int) bcNum {
	full := bcNum{new(big.Int).Mul(x.n, y.n), x.scale + y.scale}
	return full.to(min(full.scale, max(scale, x.scale, y.scale)))
}

func (x bcNum) div(y bcNum, scale int) bcNum {
	n := new(big.Int).Mul(x.n, tenTo(max(0, scale+y.scale-x.scale)))
	d := y.n
	if under := x.scale - y.scale - scale; under > 0 {
		d = new(big.Int).Mul(d, tenTo(under))
	}
	return bcNum{n.Quo(n, d), scale}
}

func (x bcNum) mod(y bcNum, scale int) bcNum {
	q := x.div(y, scale)
	s := max(scale+y.scale, x.scale)
	full := bcNum{new(big.Int).Mul(q.n, y.n), q.scale + y.scale}
	return x.add(full.neg()).to(s)
}

// pow raises to a whole power; ok is false if the result is too large.
func (x bcNum) pow(e, scale int) (bcNum, bool) {
	abs := max(e, -e)
	if x.n.BitLen() > 1 && float64(x.n.BitLen())*float64(abs) > 4*maxDigits {
		return x, false
	}
	n := bcNum{new(big.Int).Exp(x.n, big.NewInt(int64(abs)), nil), x.scale * abs}
	if e < 0 {
		if n.zero() {
			return n, false
		}
		return bcInt(1).div(n, scale), true
	}
	return n.to(min(n.scale, max(scale, x.scale))), true
}

func (x bcNum) sqrt(scale int) bcNum {
	s := max(scale, x.scale)
	return bcNum{new(big.Int).Sqrt(x.to(2 * s).n), s}
}

// String is the number in decimal.
func (x bcNum) String() string {
	s := new(big.Int).Abs(x.n).String()
	if x.scale > 0 {
		if len(s) <= x.scale {
			s = strings.Repeat("0", x.scale-len(s)+1) + s
		}
		s = strings.TrimPrefix(s[:len(s)-x.scale], "0") + "." + s[len(s)-x.scale:]
	}
	if x.n.Sign() < 0 {
		s = "-" + s
	}
	if x.zero() {
		return "0"
	}
	return s
}

// base is the number in another base, of which digits above 16 are printed in
// decimal.
func (x bcNum) base(base int) string {
	if base == 10 {
		return x.String()
	}
	digit := func(d int64) string {
		if base <= 16 {
			return string("0123456789ABCDEF"[d])
		}
		width := len(bcInt(int64(base - 1)).String())
		t := bcInt(d).String()
		return " " + strings.Repeat("0", width-len(t)) + t
	}
	whole, b := new(big.Int).Abs(x.to(0).n), big.NewInt(int64(base))
	var digits []string
	for whole.Sign() > 0 {
		m := new(big.Int)
		whole.QuoRem(whole, b, m)
		digits = append(digits, digit(m.Int64()))
	}
	out := ""
	for i := len(digits) - 1; i >= 0; i-- {
		out += digits[i]
	}
	if x.scale > 0 {
		part := new(big.Int).Abs(new(big.Int).Sub(x.n, x.to(0).to(x.scale).n))
		unit, reached := tenTo(x.scale), big.NewInt(1)
		out += "."
		for reached.Cmp(unit) < 0 {
			part.Mul(part, b)
			d := new(big.Int)
			d.QuoRem(part, unit, part)
			out += digit(d.Int64())
			reached.Mul(reached, b)
		}
	}
	if out == "" {
		out = "0"
	}
	if x.n.Sign() < 0 {
		out = "-" + out
	}
	return out
}

// parseBC reads a number in a base.
func parseBC(s string, base int) bcNum {
	whole, part, _ := strings.Cut(s, ".")
	digits := whole + part
	if base == 10 && !strings.ContainsAny(s, "ABCDEF") {
		n, ok := new(big.Int).SetString(digits, 10)
		if !ok {
			return bcInt(0)
		}
		return bcNum{n, len(part)}
	}
	n, b := new(big.Int), big.NewInt(int64(base))
	for i := range len(digits) {
		d := strings.IndexByte("0123456789ABCDEF", digits[i])
		if len(digits) > 1 {
			d = min(d, base-1)
		}
		n.Mul(n, b).Add(n, big.NewInt(int64(d)))
	}
	if part == "" {
		return bcNum{n, 0}
	}
	return bcNum{n, 0}.div(bcNum{new(big.Int).Exp(b, big.NewInt(int64(len(part))), nil), 0}, len(part))
}

// exp, ln and arctan are the functions of bc -l, by their series with digits to
// spare.
func bcExp(x bcNum, scale int) (bcNum, bool) {
	if x.int() > 20000 || x.int() < -20000 {
		return x, false
	}
	halvings, work := 0, scale+x.int()/2+20
	if x.n.Sign() < 0 {
		work = scale + 20
	}
	y := x.to(max(work, x.scale))
	for y.cmp(bcInt(1)) > 0 || y.cmp(bcInt(-1)) < 0 {
		y = y.div(bcInt(2), work+5)
		halvings++
		work++
	}
	sum, term := bcInt(1), bcInt(1)
	for i := int64(1); ; i++ {
		term = term.mul(y, work).to(work).div(bcInt(i), work)
		if term.zero() {
			break
		}
		sum = sum.add(term)
	}
	for range halvings {
		sum = sum.mul(sum, work).to(work)
	}
	return sum.to(scale), true
}

func bcLn(x bcNum, scale int) bcNum {
	if x.n.Sign() <= 0 {
		return bcInt(-1).mul(bcNum{tenTo(20), 0}, 0)
	}
	work := scale + 20 + len(x.to(0).n.String())
	factor := bcInt(2)
	for x.cmp(bcInt(2)) >= 0 || x.cmp(bcNum{big.NewInt(5), 1}) <= 0 {
		x = x.sqrt(work + 10)
		factor = factor.mul(bcInt(2), 0)
	}
	// ln x = 2 artanh((x-1)/(x+1))
	y := x.add(bcInt(-1)).div(x.add(bcInt(1)), work)
	square, sum, power := y.mul(y, work).to(work), y, y
	for i := int64(3); ; i += 2 {
		power = power.mul(square, work).to(work)
		term := power.div(bcInt(i), work)
		if term.zero() {
			break
		}
		sum = sum.add(term)
	}
	return sum.mul(factor, work).to(scale)
}

func bcAtan(x bcNum, scale int) bcNum {
	work, factor := scale+20, bcInt(1)
	for x.cmp(bcNum{big.NewInt(2), 1}) > 0 || x.cmp(bcNum{big.NewInt(-2), 1}) < 0 {
		// atan x = 2 atan(x / (1 + sqrt(1 + x²)))
		root := bcInt(1).add(x.mul(x, work).to(work)).sqrt(work)
		x = x.div(bcInt(1).add(root), work)
		factor = factor.mul(bcInt(2), 0)
	}
	square, sum, power := x.mul(x, work).to(work).neg(), x, x
	for i := int64(3); ; i += 2 {
		power = power.mul(square, work).to(work)
		term := power.div(bcInt(i), work)
		if term.zero() {
			break
		}
		sum = sum.add(term)
	}
	return sum.mul(factor, work).to(scale)
}

// bcSin is the sine; the cosine is the sine of π/2 more.
func bcSin(x bcNum, scale int, cosine bool) bcNum {
	work := scale + 20 + len(x.to(0).n.String())
	pi := bcAtan(bcInt(1), work).mul(bcInt(4), work)
	if cosine {
		x = x.add(pi.div(bcInt(2), work))
	}
	x = x.mod(pi.mul(bcInt(2), work), 0)
	x = x.to(work)
	square, sum, term := x.mul(x, work).to(work).neg(), x, x
	for i := int64(2); ; i += 2 {
		term = term.mul(square, work).to(work).div(bcInt(i*(i+1)), work)
		if term.zero() {
			break
		}
		sum = sum.add(term)
	}
	return sum.to(scale)
}
