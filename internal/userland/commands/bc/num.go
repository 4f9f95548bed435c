package bc

import (
	"cmp"
	"math/big"
	"strings"
)

// num is a decimal number of bc: n / 10^scale.
type num struct {
	n     *big.Int
	scale int
}

// maxDigits bounds the numbers of bc.
const maxDigits = 1 << 16

func integer(n int64) num { return num{big.NewInt(n), 0} }

func tenTo(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }

// to returns the number with another scale, truncated.
func (x num) to(scale int) num {
	n := new(big.Int)
	if scale >= x.scale {
		n.Mul(x.n, tenTo(scale-x.scale))
	} else {
		n.Quo(x.n, tenTo(x.scale-scale))
	}
	return num{n, scale}
}

func (x num) cmp(y num) int {
	s := max(x.scale, y.scale)
	return x.to(s).n.Cmp(y.to(s).n)
}

func (x num) zero() bool { return x.n.Sign() == 0 }

// int returns the whole part as an int; a number too large for one is the largest.
func (x num) int() int {
	n := x.to(0).n
	if !n.IsInt64() || n.Int64() > 1<<40 || n.Int64() < -1<<40 {
		return n.Sign() << 40
	}
	return int(n.Int64())
}

func (x num) add(y num) num {
	s := max(x.scale, y.scale)
	return num{new(big.Int).Add(x.to(s).n, y.to(s).n), s}
}

func (x num) neg() num { return num{new(big.Int).Neg(x.n), x.scale} }

func (x num) mul(y num, scale int) num {
	full := num{new(big.Int).Mul(x.n, y.n), x.scale + y.scale}
	return full.to(min(full.scale, max(scale, x.scale, y.scale)))
}

func (x num) div(y num, scale int) num {
	n := new(big.Int).Mul(x.n, tenTo(max(0, scale+y.scale-x.scale)))
	d := y.n
	if under := x.scale - y.scale - scale; under > 0 {
		d = new(big.Int).Mul(d, tenTo(under))
	}
	return num{n.Quo(n, d), scale}
}

func (x num) mod(y num, scale int) num {
	q := x.div(y, scale)
	s := max(scale+y.scale, x.scale)
	full := num{new(big.Int).Mul(q.n, y.n), q.scale + y.scale}
	return x.add(full.neg()).to(s)
}

// pow raises to a whole power; ok is false if the result is too large.
func (x num) pow(e, scale int) (num, bool) {
	abs := max(e, -e)
	if x.n.BitLen() > 1 && float64(x.n.BitLen())*float64(abs) > 4*maxDigits {
		return x, false
	}
	n := num{new(big.Int).Exp(x.n, big.NewInt(int64(abs)), nil), x.scale * abs}
	if e < 0 {
		if n.zero() {
			return n, false
		}
		return integer(1).div(n, scale), true
	}
	return n.to(min(n.scale, max(scale, x.scale))), true
}

func (x num) sqrt(scale int) num {
	s := max(scale, x.scale)
	return num{new(big.Int).Sqrt(x.to(2 * s).n), s}
}

// String is the number in decimal.
func (x num) String() string {
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
func (x num) base(base int) string {
	if base == 10 {
		return x.String()
	}
	digit := func(d int64) string {
		if base <= 16 {
			return string("0123456789ABCDEF"[d])
		}
		width := len(integer(int64(base - 1)).String())
		t := integer(d).String()
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
	out = cmp.Or(out, "0")
	if x.n.Sign() < 0 {
		out = "-" + out
	}
	return out
}

// parseBC reads a number in a base.
func parseBC(s string, base int) num {
	whole, part, _ := strings.Cut(s, ".")
	digits := whole + part
	if base == 10 && !strings.ContainsAny(s, "ABCDEF") {
		n, ok := new(big.Int).SetString(digits, 10)
		if !ok {
			return integer(0)
		}
		return num{n, len(part)}
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
		return num{n, 0}
	}
	return num{n, 0}.div(num{new(big.Int).Exp(b, big.NewInt(int64(len(part))), nil), 0}, len(part))
}

// exp, ln and arctan are the functions of bc -l, by their series with digits to
// spare.
func exp(x num, scale int) (num, bool) {
	if x.int() > 20000 || x.int() < -20000 {
		return x, false
	}
	halvings, work := 0, scale+x.int()/2+20
	if x.n.Sign() < 0 {
		work = scale + 20
	}
	y := x.to(max(work, x.scale))
	for y.cmp(integer(1)) > 0 || y.cmp(integer(-1)) < 0 {
		y = y.div(integer(2), work+5)
		halvings++
		work++
	}
	sum, term := integer(1), integer(1)
	for i := int64(1); ; i++ {
		term = term.mul(y, work).to(work).div(integer(i), work)
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

func ln(x num, scale int) num {
	if x.n.Sign() <= 0 {
		return integer(-1).mul(num{tenTo(20), 0}, 0)
	}
	work := scale + 20 + len(x.to(0).n.String())
	factor := integer(2)
	for x.cmp(integer(2)) >= 0 || x.cmp(num{big.NewInt(5), 1}) <= 0 {
		x = x.sqrt(work + 10)
		factor = factor.mul(integer(2), 0)
	}
	// ln x = 2 artanh((x-1)/(x+1))
	y := x.add(integer(-1)).div(x.add(integer(1)), work)
	return odd(y, y.mul(y, work).to(work), work).mul(factor, work).to(scale)
}

// odd is the sum of x, x·square/3, x·square²/5 and so on.
func odd(x, square num, work int) num {
	sum, power := x, x
	for i := int64(3); ; i += 2 {
		power = power.mul(square, work).to(work)
		term := power.div(integer(i), work)
		if term.zero() {
			return sum
		}
		sum = sum.add(term)
	}
}

func atan(x num, scale int) num {
	work, factor := scale+20, integer(1)
	for x.cmp(num{big.NewInt(2), 1}) > 0 || x.cmp(num{big.NewInt(-2), 1}) < 0 {
		// atan x = 2 atan(x / (1 + sqrt(1 + x²)))
		root := integer(1).add(x.mul(x, work).to(work)).sqrt(work)
		x = x.div(integer(1).add(root), work)
		factor = factor.mul(integer(2), 0)
	}
	return odd(x, x.mul(x, work).to(work).neg(), work).mul(factor, work).to(scale)
}

// sin is the sine, or the cosine, by their series.
func sin(x num, scale int, cosine bool) (sum num) {
	work := scale + 20 + len(x.to(0).n.String())
	pi := atan(integer(1), work).mul(integer(4), work)
	x = x.mod(pi.mul(integer(2), work), 0)
	x = x.to(work)
	square, term, i := x.mul(x, work).to(work).neg(), x, int64(2)
	if cosine {
		term, i = integer(1).to(work), 1
	}
	for sum = term; ; i += 2 {
		term = term.mul(square, work).to(work).div(integer(i*(i+1)), work)
		if term.zero() {
			break
		}
		sum = sum.add(term)
	}
	return sum.to(scale)
}
