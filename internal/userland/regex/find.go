package regex

// findStep is how many matches FindAll looks for first.
const findStep = 1 << 12

// FindAll returns up to n matches (all if n < 0) of a pattern, as
// FindAllSubmatchIndex does. Before it looks for many, room is asked for the bytes
// that they take.
func FindAll(p Pattern, b []byte, n int, room func(int) error) ([][]int, error) {
	for most := findStep; ; most *= 4 {
		if most > findStep {
			if err := room(most * (3*8 + 16*(GroupCount(p)+1))); err != nil {
				return nil, err
			}
		}
		if n >= 0 && n <= most {
			return p.FindAllSubmatchIndex(b, n), nil
		}
		if found := p.FindAllSubmatchIndex(b, most); len(found) < most {
			return found, nil
		}
	}
}
