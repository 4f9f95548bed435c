package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
)

// topic is a group of cases that share a table and a unit.
type topic struct {
	name, title, unit string
	cases             []benchCase
}

// write prints a topic: a line for each contender of a case, with the ratio of
// ours to it, and the geometric means of these ratios.
func write(w io.Writer, t topic, results []*result) error {
	if len(results) == 0 {
		return nil
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(tw, "\n%s: %s\ncase\tcontender\tmedian %s\tquartiles\tcpu ms\truns\tours/it\tcpu\n", t.name, t.title, t.unit)
	ratios := map[string][]float64{}
	var notes strings.Builder
	for _, res := range results {
		ours := res.rows[0]
		for i, r := range res.rows {
			cells := []string{"", r.name, figure(r.median()), figure(quantile(r.samples, 0.25)) + "–" + figure(quantile(r.samples, 0.75)),
				figure(ms(r.cpu)), fmt.Sprint(len(r.samples)), "", ""}
			switch v := quotient(ours.median(), r.median()); {
			case r.err != nil:
				cells[6] = "failed"
				fmt.Fprintf(&notes, "%s, %s: %s\n", res.name, r.name, strings.Join(strings.Fields(r.err.Error()), " "))
			case i > 0:
				ratios[r.name] = append(ratios[r.name], v)
				cells[6], cells[7] = figure(v), figure(quotient(ms(ours.cpu), ms(r.cpu)))
			}
			if i == 0 {
				cells[0] = res.name
			}
			fmt.Fprintln(tw, strings.Join(cells, "\t"))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(ratios)) {
		if n := len(ratios[name]); n > 1 {
			fmt.Fprintf(tw, "mean of %d\t%s\t\t\t\t\t%s\t\n", n, name, figure(geomean(ratios[name])))
		}
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	_, err := io.WriteString(w, notes.String())
	return err
}

// quotient is 0 where one of the two was not measured.
func quotient(a, b float64) float64 {
	if a <= 0 || b <= 0 {
		return 0
	}
	return a / b
}

// figure prints about three digits.
func figure(v float64) string {
	switch {
	case v <= 0:
		return "-"
	case v < 0.0995:
		return fmt.Sprintf("%.3f", v)
	case v < 9.995:
		return fmt.Sprintf("%.2f", v)
	case v < 99.95:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.0f", v)
}
