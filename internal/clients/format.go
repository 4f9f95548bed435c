package clients

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/tailscale/hujson"
	"go.yaml.in/yaml/v3"
)

// format is the syntax of configuration files.
type format struct {
	parse func(text []byte) (map[string]any, error)
	// edit sets the fields of the entry in the table at, which exists or not.
	edit func(text []byte, at string, fields []field, exists bool) ([]byte, error)
}

var (
	jsonFormat = format{parseJSON, editJSON}
	tomlFormat = format{parseTOML, editTOML}
	yamlFormat = format{parseYAML, editYAML}
)

func parseJSON(text []byte) (map[string]any, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return map[string]any{}, nil
	}
	v, err := hujson.Parse(bytes.Clone(text))
	if err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "hujson: "))
	}
	v.Standardize()
	table := map[string]any{}
	if err := json.Unmarshal(v.Pack(), &table); err != nil {
		return nil, fmt.Errorf("line 1: it is not an object: %w", err)
	}
	return table, nil
}

func parseTOML(text []byte) (map[string]any, error) {
	table := map[string]any{}
	err := toml.Unmarshal(text, &table)
	var where *toml.DecodeError
	if errors.As(err, &where) {
		line, column := where.Position()
		err = fmt.Errorf("line %d, column %d: %s", line, column, strings.TrimPrefix(where.Error(), "toml: "))
	}
	return table, err
}

func parseYAML(text []byte) (map[string]any, error) {
	table := map[string]any{}
	if err := yaml.Unmarshal(text, &table); err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "yaml: "))
	}
	return table, nil
}

// same reports whether two values are equal as JSON.
func same(a, b any) bool {
	var values [2]any
	for i, v := range []any{a, b} {
		text, err := json.Marshal(v)
		if err != nil || json.Unmarshal(text, &values[i]) != nil {
			return false
		}
	}
	return reflect.DeepEqual(values[0], values[1])
}
