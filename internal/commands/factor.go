package commands

import (
	"math/big"
	"strconv"
	"strings"
)

// factor prints the prime factors of numbers.
func factor(c *call) int {
	o, status := c.options("h,exponents")
	if o == nil {
		return status
	}
	words := o.args
	if len(words) == 0 {
		data, err := c.readAll(c.in())
		c.failed("-", err)
		words = strings.Fields(string(data))
	}
	for _, w := range words {
		n, err := strconv.ParseUint(strings.TrimPrefix(w, "+"), 10, 64)
		if err != nil {
			c.fail("%s is not a valid positive integer", quote(w))
			continue
		}
		c.printf("%d:", n)
		for p := uint64(2); n > 1; {
			if n%p == 0 {
				c.printf(" %d", p)
				n /= p
				continue
			}
			if p&0xffff == 1 && c.stopped() {
				return 1
			}
			if p > 1000 && new(big.Int).SetUint64(n).ProbablyPrime(20) || p > n/p {
				c.printf(" %d", n)
				break
			}
			p += 1 + p&1
		}
		c.print("\n")
	}
	return c.status
}
