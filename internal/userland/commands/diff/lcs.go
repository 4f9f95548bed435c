package diff

// lcs marks the elements of two sequences that are not in a longest common
// subsequence: Myers's algorithm with linear space ("An O(ND) Difference
// Algorithm and Its Variations", section 4b).
type lcs struct {
	a, b             []int
	deleted, added   []bool
	forward, reverse []int // furthest positions by diagonal, shifted by len(b)+1
	stopped          func() bool
}

// maxCost bounds the search in one box; beyond it the box is cut where the search
// has come furthest, and the result may not be the shortest.
const maxCost = 2048

// differences compares two sequences of equivalence classes.
func differences(a, b []int, stopped func() bool) (deleted, added []bool) {
	n := 2*(len(a)+len(b)) + 6
	d := &lcs{a: a, b: b, deleted: make([]bool, len(a)), added: make([]bool, len(b)), forward: make([]int, n), reverse: make([]int, n), stopped: stopped}
	d.compare(0, len(a), 0, len(b))
	shift(a, d.deleted, d.added)
	shift(b, d.added, d.deleted)
	return d.deleted, d.added
}

// compare handles the box a[alo:ahi], b[blo:bhi].
func (d *lcs) compare(alo, ahi, blo, bhi int) {
	for {
		for alo < ahi && blo < bhi && d.a[alo] == d.b[blo] {
			alo, blo = alo+1, blo+1
		}
		for alo < ahi && blo < bhi && d.a[ahi-1] == d.b[bhi-1] {
			ahi, bhi = ahi-1, bhi-1
		}
		if alo == ahi || blo == bhi || d.stopped() {
			for i := alo; i < ahi; i++ {
				d.deleted[i] = true
			}
			for i := blo; i < bhi; i++ {
				d.added[i] = true
			}
			return
		}
		x, y := d.middle(alo, ahi, blo, bhi)
		// Recurse into the smaller half.
		if x-alo+y-blo < ahi-x+bhi-y {
			d.compare(alo, x, blo, y)
			alo, blo = x, y
		} else {
			d.compare(x, ahi, y, bhi)
			ahi, bhi = x, y
		}
	}
}

// middle returns a point that the shortest path through the box passes.
func (d *lcs) middle(alo, ahi, blo, bhi int) (x, y int) {
	shift := len(d.b) + 2
	lo, hi := alo-bhi, ahi-blo // diagonals x-y
	f, r := d.forward, d.reverse
	fmid, rmid := alo-blo, ahi-bhi
	f[fmid+shift], r[rmid+shift] = alo, ahi
	fmin, fmax, rmin, rmax := fmid, fmid, rmid, rmid
	odd := (fmid-rmid)&1 != 0
	for cost := 1; ; cost++ {
		if fmin > lo {
			fmin--
			f[fmin-1+shift] = -1
		} else {
			fmin++
		}
		if fmax < hi {
			fmax++
			f[fmax+1+shift] = -1
		} else {
			fmax--
		}
		for k := fmax; k >= fmin; k -= 2 {
			x := max(f[k-1+shift]+1, f[k+1+shift])
			for x < ahi && x-k < bhi && d.a[x] == d.b[x-k] {
				x++
			}
			f[k+shift] = x
			if odd && k >= rmin && k <= rmax && r[k+shift] <= x {
				return x, x - k
			}
		}
		if rmin > lo {
			rmin--
			r[rmin-1+shift] = int(^uint(0) >> 1)
		} else {
			rmin++
		}
		if rmax < hi {
			rmax++
			r[rmax+1+shift] = int(^uint(0) >> 1)
		} else {
			rmax--
		}
		for k := rmax; k >= rmin; k -= 2 {
			x := min(r[k+1+shift]-1, r[k-1+shift])
			for x > alo && x-k > blo && d.a[x-1] == d.b[x-k-1] {
				x--
			}
			r[k+shift] = x
			if !odd && k >= fmin && k <= fmax && x <= f[k+shift] {
				return x, x - k
			}
		}
		if cost >= maxCost {
			return d.furthest(f, fmin, fmax, ahi, bhi, shift)
		}
	}
}

// furthest is the point that the forward search has brought furthest.
func (d *lcs) furthest(f []int, fmin, fmax, ahi, bhi, shift int) (x, y int) {
	best := -1
	for k := fmax; k >= fmin; k -= 2 {
		at := min(f[k+shift], ahi)
		if at-k > bhi {
			at = bhi + k
		}
		if at+at-k > best {
			best, x, y = at+at-k, at, at-k
		}
	}
	return x, y
}

// shift moves runs of changes down as far as equal lines allow, and joins those
// that meet, so that hunks are as people expect them.
func shift(lines []int, changed, other []bool) {
	j := 0 // position in the other sequence
	for i := 0; i < len(lines); {
		if !changed[i] {
			for j < len(other) && other[j] {
				j++
			}
			i, j = i+1, j+1
			continue
		}
		start := i
		for i < len(lines) && changed[i] {
			i++
		}
		facing := j < len(other) && other[j]
		for !facing && i < len(lines) && lines[start] == lines[i] && !(j < len(other) && other[j]) {
			changed[start], changed[i] = false, true
			start, i, j = start+1, i+1, j+1
			for i < len(lines) && changed[i] {
				i++
			}
		}
	}
}
