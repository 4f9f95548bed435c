package notebook

import (
	"slices"
	"testing"

	"coderunner/runners"
)

func TestRead(t *testing.T) {
	for _, tt := range []struct {
		name, data, code, language string
		cells                      Cells
	}{
		{"format 4", `{"nbformat":4,"metadata":{"kernelspec":{"language":"python"}},"cells":[
			{"cell_type":"markdown","source":"# x"},
			{"cell_type":"code","source":["a = 1\n","b = 2"],"outputs":[]},
			{"cell_type":"code","source":""},
			{"cell_type":"code","source":"a + b\n"}]}`, "a = 1\nb = 2\n# %%\n\n# %%\na + b\n", "python", Cells{1, 4, 6}},
		{"format 3", `{"nbformat":3,"metadata":{},"worksheets":[{"cells":[
			{"cell_type":"code","language":"python","input":["x = 1"]},{"cell_type":"heading","source":"h"}]}]}`, "x = 1\n", "python", Cells{1}},
		{"a cell's magic", `{"cells":[{"cell_type":"code","source":"%%writefile a\nb"},{"cell_type":"code","source":"c"}]}`, "%%writefile a\nb\n# %%\nc\n", "", Cells{1, 4}},
		{"Deno's", `{"metadata":{"language_info":{"name":"typescript"}},"cells":[{"cell_type":"code","source":"1"},{"cell_type":"code","source":"2"}]}`, "1\n// %%\n2\n", "typescript", Cells{1, 3}},
	} {
		code, language, in, err := Read([]byte(tt.data))
		if err != nil || code != tt.code || language != tt.language || !slices.Equal(in, tt.cells) {
			t.Errorf("%s: %q, %q, %v, %v", tt.name, code, language, in, err)
		}
	}
	for _, data := range []string{"", "[]", "{}", `{"cells":[{"cell_type":"code","source":7}]}`, `{"cells":[{"cell_type":"markdown","source":"x"}]}`} {
		if _, _, _, err := Read([]byte(data)); err == nil {
			t.Errorf("%s is taken for a notebook", data)
		}
	}
}

func TestLocate(t *testing.T) {
	e := &runners.Error{Line: 4, Traceback: "File \"a.ipynb\", line 2, in <module>\nFile \"a.ipynb\", line 4, in f\nFile \"b.py\", line 4\n  at a.ipynb:3:7"}
	Cells{1, 3, 4}.Locate("a.ipynb", e)
	want := "File \"a.ipynb\", cell 1, line 2, in <module>\nFile \"a.ipynb\", cell 3, line 1, in f\nFile \"b.py\", line 4\n  at a.ipynb, cell 2:1:7"
	if e.Traceback != want || e.Line != 1 {
		t.Errorf("line %d of\n%s\nwant\n%s", e.Line, e.Traceback, want)
	}
}
