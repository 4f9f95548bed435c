package runners

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

// What Text shows and what it says is cut are together what was printed.
func TestCaptureCutsOnce(t *testing.T) {
	for _, n := range []int{0, 1, 999, 1000, 1020, 1044, 1100, 5000, 19_999, 20_000} {
		for _, unit := range []string{"x", "é", "😀"} {
			printed := strings.Repeat(unit, n/len(unit))
			c := NewCapture(1000)
			for rest := printed; rest != ""; {
				k := min(len(rest), 333)
				if _, err := c.Write([]byte(rest[:k])); err != nil {
					t.Fatal(err)
				}
				rest = rest[k:]
			}
			text, cut := c.Text()
			if len(printed) <= 1000+markSize {
				if cut || text != printed || c.Whole() != "" {
					t.Errorf("%d bytes of %s: %d bytes, cut %v", len(printed), unit, len(text), cut)
				}
				continue
			}
			head, rest, _ := strings.Cut(text, "\n… ")
			var missing int
			if _, err := fmt.Sscanf(rest, "%d bytes cut …", &missing); err != nil {
				t.Fatalf("%q: %v", rest, err)
			}
			_, tail, _ := strings.Cut(rest, "…\n")
			if !cut || len(head)+missing+len(tail) != len(printed) || len(head)+len(tail) > 1000 || !utf8.ValidString(text) {
				t.Errorf("%d bytes of %s: %d + %d cut + %d", len(printed), unit, len(head), missing, len(tail))
			}
			if c.Whole() != printed {
				t.Errorf("the whole has %d bytes of %d", len(c.Whole()), len(printed))
			}
		}
	}
}

// A stream that is longer than what is kept has its true number, too.
func TestCaptureKeepsHeadAndTail(t *testing.T) {
	c := NewCapture(1 << 20)
	for range 6 {
		if _, err := c.Write([]byte(strings.Repeat("a", 1<<20))); err != nil {
			t.Fatal(err)
		}
	}
	text, cut := c.Text()
	if want := fmt.Sprintf("… %d bytes cut …", 5<<20); !cut || !strings.Contains(text, want) || c.Whole() != "" {
		t.Errorf("cut %v, whole of %d bytes, no %q in %d bytes", cut, len(c.Whole()), want, len(text))
	}
}
