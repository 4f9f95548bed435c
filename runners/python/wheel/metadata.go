package wheel

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// Metadata is the part of a wheel's METADATA that the resolver needs.
type Metadata struct {
	Project       string // as written
	Version       string
	RequiresDist  []string
	ProvidesExtra []string
}

// maxRequires bounds the Requires-Dist lines of one wheel.
const maxRequires = 10_000

// header is one field of METADATA or WHEEL.
type header struct{ key, value string }

// parseHeaders reads the fields up to the first empty line. Continuation lines
// are skipped: no field needed here has any.
func parseHeaders(raw []byte) ([]header, error) {
	var fields []header
	s := bufio.NewScanner(bytes.NewReader(raw))
	s.Buffer(make([]byte, 0, 4096), len(raw)+1)
	for s.Scan() {
		line := strings.TrimSuffix(s.Text(), "\r")
		if line == "" {
			break
		}
		// Old licence texts continue on lines that are neither fields nor
		// indented.
		key, value, ok := strings.Cut(line, ":")
		if !ok || line[0] == ' ' || line[0] == '\t' {
			continue
		}
		fields = append(fields, header{strings.ToLower(strings.TrimSpace(key)), strings.TrimSpace(value)})
	}
	return fields, s.Err()
}

func parseMetadata(raw []byte) (Metadata, error) {
	var m Metadata
	fields, err := parseHeaders(raw)
	if err != nil {
		return m, fmt.Errorf("its METADATA has %v", err)
	}
	for _, f := range fields {
		switch f.key {
		case "name":
			m.Project = f.value
		case "version":
			m.Version = f.value
		case "requires-dist":
			m.RequiresDist = append(m.RequiresDist, f.value)
		case "provides-extra":
			m.ProvidesExtra = append(m.ProvidesExtra, f.value)
		}
	}
	if len(m.RequiresDist) > maxRequires {
		return m, fmt.Errorf("it requires %d packages", len(m.RequiresDist))
	}
	return m, nil
}

// agree checks that the metadata are of the project in the file name.
func (m Metadata) agree(n Name) error {
	switch {
	case m.Project == "" || m.Version == "":
		return fmt.Errorf("its METADATA has no name or no version")
	case Normalize(m.Project) != n.Project:
		return fmt.Errorf("its METADATA is of the project %q", m.Project)
	case !SameVersion(m.Version, n.Version):
		return fmt.Errorf("its METADATA is of version %q", m.Version)
	}
	return nil
}

// ReadInstalled returns the metadata of the only wheel that is unpacked in a directory.
func ReadInstalled(dir fs.FS) (Metadata, error) {
	list, err := fs.Glob(dir, "*.dist-info/METADATA")
	if err != nil || len(list) != 1 {
		return Metadata{}, errors.Join(fmt.Errorf("%d METADATA", len(list)), err)
	}
	raw, err := fs.ReadFile(dir, list[0])
	if err != nil {
		return Metadata{}, err
	}
	return parseMetadata(raw)
}
