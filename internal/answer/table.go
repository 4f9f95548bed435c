package answer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// table writes a JSON array of two or more flat objects with the same names as
// a line of names and a line for each object, which is half as long. It reports
// whether the value is such an array.
func table(value json.RawMessage) (text string, ok bool) {
	if !bytes.HasPrefix(value, []byte("[{")) {
		return "", false
	}
	d := json.NewDecoder(bytes.NewReader(value))
	d.UseNumber()
	var b strings.Builder
	var names []string
	rows := 0
	if _, err := d.Token(); err != nil {
		return "", false
	}
	for ; d.More(); rows++ {
		cells, ok := row(d, &names, rows == 0)
		if !ok || len(cells) != len(names) || len(names) == 0 {
			return "", false
		}
		if rows == 0 {
			b.WriteString(strings.Join(names, " | "))
		}
		b.WriteString("\n" + strings.Join(cells, " | "))
	}
	if rows < 2 {
		return "", false
	}
	return fmt.Sprintf("%d records\n%s", rows, b.String()), true
}

// row reads an object. The first sets the names.
func row(d *json.Decoder, names *[]string, first bool) (cells []string, ok bool) {
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, false
	}
	for d.More() {
		t, err := d.Token()
		name, isName := t.(string)
		if err != nil || !isName {
			return nil, false
		}
		if first {
			*names = append(*names, cell(name))
		} else if len(cells) >= len(*names) || (*names)[len(cells)] != cell(name) {
			return nil, false
		}
		if t, err = d.Token(); err != nil {
			return nil, false
		}
		if _, nested := t.(json.Delim); nested {
			return nil, false
		}
		cells = append(cells, cell(t))
	}
	_, err := d.Token()
	return cells, err == nil
}

// cell writes a value so that a line has as many cells as it seems to have.
func cell(v any) string {
	if v == nil {
		return "null"
	}
	text := fmt.Sprint(v)
	if s, isString := v.(string); isString && (strings.ContainsAny(s, "|\n\r\t\"") || strings.TrimSpace(s) != s || s == "") {
		text = fmt.Sprintf("%q", s)
	}
	return text
}
