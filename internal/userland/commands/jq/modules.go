package jq

import (
	"fmt"
	"path"
	"strings"

	"github.com/itchyny/gojq"

	"coderunner/internal/userland/commands/command"
)

// modules finds what a filter imports: name.jq and name.json, or a file of that name in
// a directory of it, below the directories of -L or the working directory. All files are
// the machine's, opened as the command's other files are.
type modules struct {
	j    *run
	dirs []string
}

// LoadModuleWithMeta parses a module. meta is that of its import.
func (m *modules) LoadModuleWithMeta(name string, meta map[string]any) (*gojq.Query, error) {
	data, dir, err := m.find(name, ".jq", meta)
	if err != nil {
		return nil, err
	}
	q, err := parse(string(data))
	if err != nil {
		return nil, fmt.Errorf("%s.jq: %w", name, err)
	}
	for _, i := range q.Imports {
		m.relative(i, dir)
	}
	if err := m.j.order.rewrite(q); err != nil {
		return nil, err
	}
	return q, nil
}

// relative has a module search where it lies.
func (m *modules) relative(i *gojq.Import, dir string) {
	at := dir
	if search, ok := i.Meta.ToValue()["search"].(string); ok {
		at = inDir(dir, search)
	}
	i.Meta = &gojq.ConstObject{KeyVals: []*gojq.ConstObjectKeyVal{{Key: "search", Val: &gojq.ConstTerm{Str: at}}}}
}

// LoadJSONWithMeta returns the values of a file of data.
func (m *modules) LoadJSONWithMeta(name string, meta map[string]any) (any, error) {
	data, _, err := m.find(name, ".json", meta)
	if err != nil {
		return nil, err
	}
	list, err := slurpJSON(data, m.j.order)
	if err != nil {
		return nil, fmt.Errorf("%s.json: %w", name, err)
	}
	return list, nil
}

func (m *modules) find(name, ending string, meta map[string]any) (data []byte, dir string, err error) {
	dirs := m.dirs
	if search, ok := meta["search"].(string); ok {
		dirs = append([]string{search}, dirs...)
	}
	for _, dir := range dirs {
		for _, file := range []string{inDir(dir, name+ending), inDir(dir, path.Join(name, path.Base(name)+ending))} {
			if data, err := m.j.c.ReadFile(file); err == nil {
				return data, path.Dir(file), nil
			}
		}
	}
	return nil, "", fmt.Errorf("module not found: %s", strings.TrimSuffix(name, ending))
}

// inDir returns a path of a directory, or the absolute path itself.
func inDir(dir, name string) string {
	if path.IsAbs(name) {
		return name
	}
	return path.Join(dir, name)
}

// libraries returns the directories of -L, or where jq looks without it.
func libraries(o *command.Options) (dirs []string) {
	if dirs = o.Values("L"); dirs == nil {
		dirs = []string{"."}
	}
	return dirs
}
