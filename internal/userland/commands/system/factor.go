package system

import (
	"math/big"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"coderunner/internal/userland/commands/command"
)

// Factor prints the prime factors of numbers.
func Factor(c *command.Call) int {
	o := c.Parse("h,exponents")
	words := o.Args
	if len(words) == 0 {
		data, err := c.ReadAll(c.In())
		c.Failed("-", err)
		words = strings.Fields(string(data))
	}
	for _, w := range words {
		n, err := strconv.ParseUint(strings.TrimPrefix(strings.TrimLeft(w, " "), "+"), 10, 64)
		if err != nil {
			c.Fail("%s is not a valid positive integer", command.Quote(w))
			continue
		}
		if c.Stopped() {
			return 1
		}
		c.Printf("%d:", n)
		for _, p := range factors(n) {
			c.Printf(" %d", p)
		}
		c.Print("\n")
	}
	return c.Status
}

// factors returns the primes of a number in order: small ones by division, the others by
// Pollard's rho.
func factors(n uint64) (list []uint64) {
	for p := uint64(2); p < 1000 && n > 1; p++ {
		for ; n%p == 0 && n > 0; n /= p {
			list = append(list, p)
		}
	}
	var split func(n uint64)
	split = func(n uint64) {
		if n < 2 {
			return
		}
		if new(big.Int).SetUint64(n).ProbablyPrime(0) { // certain below 2^64
			list = append(list, n)
			return
		}
		for c := uint64(1); ; c++ {
			if d := rho(n, c); d != n {
				split(d)
				split(n / d)
				return
			}
		}
	}
	split(n)
	slices.Sort(list)
	return list
}

// rho returns a divisor of n other than 1; it may be n, then another c may do better.
func rho(n, c uint64) uint64 {
	next := func(x uint64) uint64 {
		hi, lo := bits.Mul64(x, x)
		lo, carry := bits.Add64(lo, c, 0)
		return bits.Rem64(hi+carry, lo, n)
	}
	x, y := uint64(2), uint64(2)
	for {
		x, y = next(x), next(next(y))
		if d := gcd(max(x, y)-min(x, y), n); d > 1 {
			return d
		}
	}
}

func gcd(a, b uint64) uint64 {
	for b > 0 {
		a, b = b, a%b
	}
	return a
}
