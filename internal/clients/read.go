package clients

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// maxRead bounds a configuration file that is only read, in bytes.
const maxRead = 4 << 20

// Servers returns the entries of a configuration file of the client's, by the servers'
// names, as the file has them.
func (c *Client) Servers(path string) (map[string]any, error) {
	all, err := readAs(path, c.format)
	if err != nil {
		return nil, err
	}
	table, _ := all[c.at].(map[string]any)
	return table, nil
}

// Read returns what a configuration file has: TOML or YAML by its name, else JSON with
// comments.
func Read(path string) (map[string]any, error) {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".toml":
		return readAs(path, tomlFormat)
	case ".yaml", ".yml":
		return readAs(path, yamlFormat)
	}
	return readAs(path, jsonFormat)
}

func readAs(path string, f format) (map[string]any, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxRead+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxRead {
		return nil, fmt.Errorf("%s has more than %d bytes", path, maxRead)
	}
	all, err := f.parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return all, nil
}
