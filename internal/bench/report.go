package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// writeList prints a case with a line for each contender.
func writeList(w io.Writer, res *result) error {
	c := res.benchCase
	unit := "ms"
	if p := res.first(peer); p != nil {
		unit = "ms; the peer is " + p.contender
	}
	if _, err := fmt.Fprintf(w, "\n%s: %s (%s)\n", c.path(), c.title, unit); err != nil {
		return err
	}
	t := table{head: []string{"", "median", "quartiles", "fastest", "cpu", "runs", "of the peer's time"}}
	for _, r := range res.rows {
		t.rows = append(t.rows, listRow(r, res.first(peer)))
	}
	return t.write(w)
}

func listRow(r, peer *row) []string {
	if len(r.samples) == 0 {
		return []string{r.contender, state(r.err) + ": " + reason(r.err)}
	}
	wall := r.wall()
	share := "-"
	if peer != nil {
		share = times(ratio(wall.Median, peer.wall().Median))
	}
	cells := []string{r.contender, ms(wall.Median), ms(wall.Low) + "–" + ms(wall.High), ms(wall.Fastest),
		ms(r.cpu().Median), fmt.Sprint(wall.N), share}
	if r.err != nil {
		cells = append(cells, "then "+state(r.err)+": "+reason(r.err))
	}
	return cells
}

// state says in a word why a row has no more samples.
func state(err error) string {
	switch {
	case errors.Is(err, errAbsent):
		return "absent"
	case errors.Is(err, errWrong):
		return "wrong"
	case errors.Is(err, errStopped):
		return "stopped"
	}
	return "failed"
}

// reason is an error in one line.
func reason(err error) string {
	if err == nil {
		return "no runs"
	}
	return strings.Join(strings.Fields(err.Error()), " ")
}

// metric is one of the times of a sample.
type metric struct {
	title string
	of    func(*row) summary
}

// writeMatrix prints cases with the same contenders as lines of one table, and
// the geometric means of our speed beside each of the others. A case with a
// wrong answer says so and is left out of the means. Where all hosts agree on
// the wrong answer it may be the wanted one that is wrong: there are means with
// those cases, too.
func writeMatrix(w io.Writer, title string, results []*result, m metric) error {
	if len(results) == 0 {
		return nil
	}
	names := results[0].rows
	head := []string{""}
	for _, r := range names {
		head = append(head, r.contender)
	}
	for _, r := range names[1:] {
		head = append(head, "vs "+lastWord(r.contender))
	}
	t := table{head: head}
	right, agreed := newSpeeds(len(names)), newSpeeds(len(names))
	for _, res := range results {
		cells := []string{res.benchCase.name}
		for _, r := range res.rows {
			cells = append(cells, matrixCell(r, m))
		}
		var line []float64
		for _, r := range res.rows[1:] {
			v := speed(res.rows[0], r, m)
			line = append(line, v)
			cells = append(cells, times(v))
		}
		wrong, agree := res.wrong()
		if len(wrong) > 0 {
			cells = append(cells, verdict(wrong, agree))
		} else {
			right.add(line)
		}
		if agree {
			agreed.add(line)
		}
		t.rows = append(t.rows, cells)
	}
	t.rows = append(t.rows, right.rows("")...)
	if agreed.cases > right.cases {
		t.rows = append(t.rows, agreed.rows(", where all agree")...)
	}
	if _, err := fmt.Fprintf(w, "\n%s, %s (medians in ms; vs: our speed, the other's time by ours)\n", title, m.title); err != nil {
		return err
	}
	return t.write(w)
}

// verdict is the remark at the end of a line.
func verdict(wrong []*row, agree bool) string {
	if agree {
		return "wrong: all"
	}
	var names []string
	for _, r := range wrong {
		names = append(names, r.contender)
	}
	return "wrong: " + strings.Join(names, ", ")
}

// speeds are ours beside those of the others, by contender.
type speeds struct {
	values [][]float64
	cases  int
}

// newSpeeds is for a table of so many contenders, of which the first is ours.
func newSpeeds(contenders int) *speeds { return &speeds{values: make([][]float64, contenders-1)} }

func (s *speeds) add(line []float64) {
	s.cases++
	for i, v := range line {
		s.values[i] = append(s.values[i], v)
	}
}

// rows are the last lines of a table.
func (s *speeds) rows(remark string) [][]string {
	blank := make([]string, len(s.values)+1)
	mean := append([]string{"geometric mean" + remark}, blank...)
	ahead := append([]string{"ahead in" + remark}, blank...)
	for _, values := range s.values {
		v, n := geomean(values)
		faster := 0
		for _, r := range values {
			if r > 1 {
				faster++
			}
		}
		mean = append(mean, times(v))
		ahead = append(ahead, fmt.Sprintf("%d of %d", faster, n))
	}
	return [][]string{mean, ahead}
}

// speed is how fast ours is beside another. A row that ended in a failure has
// none: what it measured before may be wrong as well.
func speed(our, other *row, m metric) float64 {
	if broken(our) || broken(other) {
		return 0
	}
	return ratio(m.of(other).Median, m.of(our).Median)
}

// broken is false for a row that was stopped by us, whose samples count.
func broken(r *row) bool { return r.err != nil && state(r.err) != "stopped" }

func matrixCell(r *row, m metric) string {
	if broken(r) || len(r.samples) == 0 {
		return state(r.err)
	}
	return ms(m.of(r).Median)
}

// writeWrong says what the wrong answers are.
func writeWrong(w io.Writer, results []*result) error {
	for _, res := range results {
		wrong, agree := res.wrong()
		if agree && len(wrong) > 1 {
			wrong = wrong[:1]
		}
		for _, r := range wrong {
			name := r.contender
			if agree {
				name = "all"
			}
			_, err := fmt.Fprintf(w, "%s wrong (%s): %.80q, want %.80q\n", res.benchCase.name, name,
				r.wrongAnswer(res.benchCase.want), res.benchCase.want)
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// writeFailures says why cells have no figure, each reason once.
func writeFailures(w io.Writer, results []*result) error {
	type failure struct{ contender, reason string }
	where := map[failure][]string{}
	var order []failure
	for _, res := range results {
		for _, r := range res.rows {
			if r.err == nil {
				continue
			}
			f := failure{r.contender, state(r.err) + ": " + reason(r.err)}
			if where[f] == nil {
				order = append(order, f)
			}
			where[f] = append(where[f], res.benchCase.name)
		}
	}
	for _, f := range order {
		programs := strings.Join(where[f], ", ")
		if len(where[f]) == len(results) {
			programs = "all"
		}
		if _, err := fmt.Fprintf(w, "%s (%s) %s\n", f.contender, programs, f.reason); err != nil {
			return err
		}
	}
	return nil
}

func lastWord(s string) string { return s[strings.LastIndexByte(s, ' ')+1:] }
