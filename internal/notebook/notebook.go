// Package notebook reads Jupyter notebooks: their code cells become one program, and the
// lines in its errors become those of the cells.
package notebook

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"coderunner/runners"
)

// Max bounds a notebook, whose outputs may be large, in bytes.
const Max = 64 << 20

// Name is the name of a notebook's program that has none. The guest knows by the
// ending that each cell shows its value.
const Name = "main.ipynb"

// notebook is a Jupyter notebook, of format 4 or 3.
type notebook struct {
	Cells      []cell
	Worksheets []struct{ Cells []cell } // format 3
	Metadata   struct {
		Kernelspec   struct{ Language string }
		LanguageInfo struct{ Name string } `json:"language_info"`
	}
}

type cell struct {
	Type     string `json:"cell_type"`
	Source   source
	Input    source // format 3
	Language string
}

// source is a text, which a notebook may have as a list of lines.
type source string

func (l *source) UnmarshalJSON(data []byte) error {
	var list []string
	if json.Unmarshal(data, &list) == nil {
		*l = source(strings.Join(list, ""))
		return nil
	}
	return json.Unmarshal(data, (*string)(l))
}

// Cells has for each code cell of a notebook its first line in the program.
type Cells []int

// Is reports whether a program's text is a notebook's.
func Is(text string) bool {
	return strings.HasPrefix(strings.TrimSpace(text), "{") && strings.Contains(text, `"nbformat"`) && json.Valid([]byte(text))
}

// Read returns the code cells of a notebook as one program, and its language if
// the notebook names it.
func Read(data []byte) (code, language string, _ Cells, err error) {
	var n notebook
	if err := json.Unmarshal(data, &n); err != nil {
		return "", "", nil, fmt.Errorf("not a notebook: %w", err)
	}
	all := n.Cells
	for _, w := range n.Worksheets {
		all = append(all, w.Cells...)
	}
	language = cmp.Or(n.Metadata.Kernelspec.Language, n.Metadata.LanguageInfo.Name)
	var b strings.Builder
	var starts Cells
	line, mark := 1, "# %%\n" // by which the guest knows where a cell ends
	if language != "" && !strings.EqualFold(language, "python") {
		mark = "// %%\n"
	}
	for _, c := range all {
		if c.Type != "code" {
			continue
		}
		text := strings.TrimRight(string(c.Source+c.Input), "\n") + "\n"
		if len(starts) > 0 {
			b.WriteString(mark)
			line++
		}
		b.WriteString(text)
		starts = append(starts, line)
		line += strings.Count(text, "\n")
		language = cmp.Or(language, c.Language)
	}
	if len(starts) == 0 {
		return "", "", nil, errors.New("not a notebook with code cells")
	}
	return b.String(), language, starts, nil
}

// Locate makes the lines in a program's error those of its cells.
func (c Cells) Locate(file string, e *runners.Error) {
	if e == nil || len(c) == 0 {
		return
	}
	name := regexp.QuoteMeta(file)
	place := regexp.MustCompile(`(File "` + name + `", line |\b` + name + `:)(\d+)`)
	e.Traceback = place.ReplaceAllStringFunc(e.Traceback, func(s string) string {
		m := place.FindStringSubmatch(s)
		n, _ := strconv.Atoi(m[2])
		cell, line := c.place(n)
		if strings.HasPrefix(s, "File") {
			return fmt.Sprintf(`File "%s", cell %d, line %d`, file, cell, line)
		}
		return fmt.Sprintf("%s, cell %d:%d", file, cell, line)
	})
	if e.Line > 0 {
		_, e.Line = c.place(e.Line)
	}
}

// place returns the cell, from 1, of a line of the program, and the line in it.
func (c Cells) place(n int) (cell, line int) {
	i, exact := slices.BinarySearch(c, n)
	if exact {
		i++
	}
	return i, n - c[max(i, 1)-1] + 1
}
