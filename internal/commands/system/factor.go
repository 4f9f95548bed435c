package system

import (
	"math/big"
	"strconv"
	"strings"

	"coderunner/internal/commands/command"
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
		n, err := strconv.ParseUint(strings.TrimPrefix(w, "+"), 10, 64)
		if err != nil {
			c.Fail("%s is not a valid positive integer", command.Quote(w))
			continue
		}
		c.Printf("%d:", n)
		for p := uint64(2); n > 1; {
			if n%p == 0 {
				c.Printf(" %d", p)
				n /= p
				continue
			}
			if p&0xffff == 1 && c.Stopped() {
				return 1
			}
			if p > 1000 && new(big.Int).SetUint64(n).ProbablyPrime(20) || p > n/p {
				c.Printf(" %d", n)
				break
			}
			p += 1 + p&1
		}
		c.Print("\n")
	}
	return c.Status
}
