package requirement

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// Files in a program's directory that list requirements, as pip reads them.
const (
	requirementsFile = "requirements.txt"
	projectFile      = "pyproject.toml"
)

// maxFileRequirements bounds the requirements of all files.
const maxFileRequirements = 500

// Files has the requirements in the files of a program's directory.
type Files struct {
	Requirements []Requirement

	// Constraints are the versions that packages must have if they are installed:
	// constraint files, and the groups of pyproject.toml.
	Constraints []Requirement

	// Hashes has the SHA-256 that are allowed, by project. It is nil unless
	// requirements.txt has hashes; then every requirement has some.
	Hashes map[string][]string
}

// ReadFiles reads requirements.txt, with the files that it includes, and the
// dependencies of pyproject.toml. files returns a file of the program, by its
// path, or nil. The errors are sentences for the files' author; they name an
// unsupported option of pip.
func ReadFiles(files func(path string) []byte) (Files, error) {
	r := filesReader{files: files, included: map[string]bool{}, found: Files{Hashes: map[string][]string{}}}
	if files(requirementsFile) != nil {
		if err := r.include(requirementsFile); err != nil {
			return Files{}, err
		}
	}
	if err := r.project(); err != nil {
		return Files{}, err
	}
	if len(r.found.Hashes) == 0 && !r.mustHash {
		r.found.Hashes = nil
		return r.found, nil
	}
	for _, q := range r.found.Requirements {
		if r.found.Hashes[q.Name] == nil || !q.Exact() {
			return Files{}, fmt.Errorf("%s has hashes, so each requirement needs a version (==) and a --hash; %s has not", requirementsFile, q.Name)
		}
	}
	return r.found, nil
}

// ReadAdvice returns the versions that the files in a directory of a project ask for, or
// those of the nearest one above it that has any, as far as they can be read.
func ReadAdvice(project fs.FS, dir string) []Requirement {
	for {
		r := filesReader{lenient: true, constraints: true, included: map[string]bool{}, found: Files{Hashes: map[string][]string{}}}
		r.files = func(name string) []byte {
			name = path.Join(dir, name)
			if info, err := fs.Stat(project, name); err != nil || info.Size() > maxScript {
				return nil
			}
			b, _ := fs.ReadFile(project, name)
			return b
		}
		_, _ = r.include(requirementsFile), r.project() // lenient
		var bound []Requirement
		for _, q := range r.found.Constraints {
			if q.Specifier != "" {
				bound = append(bound, Requirement{Name: q.Name, Specifier: q.Specifier, Marker: q.Marker})
			}
		}
		if len(bound) > 0 || dir == "." {
			return bound
		}
		dir = path.Dir(dir)
	}
}

type filesReader struct {
	lenient     bool // what cannot be read is skipped
	files       func(path string) []byte
	included    map[string]bool
	mustHash    bool
	constraints bool // the file that is read has constraints
	found       Files
}

// include reads a requirements file, or a constraints file.
func (r *filesReader) include(name string) error {
	if r.included[name] {
		return nil
	}
	r.included[name] = true
	number := 0
	var line strings.Builder // with its continuation lines
	for text := range strings.Lines(strings.TrimPrefix(string(r.files(name)), "\ufeff")) {
		number++
		text = strings.TrimRight(text, "\r\n")
		before, more := strings.CutSuffix(text, `\`)
		line.WriteString(before)
		if more {
			continue
		}
		if err := r.line(name, line.String()); err != nil && !r.lenient {
			return fmt.Errorf("%s, line %d: %w", name, number, err)
		}
		line.Reset()
	}
	if err := r.line(name, line.String()); err != nil && !r.lenient {
		return fmt.Errorf("%s, line %d: %w", name, number, err)
	}
	return nil
}

// line reads a line of a requirements file.
func (r *filesReader) line(file, text string) error {
	if strings.HasPrefix(strings.TrimSpace(text), "#") {
		return nil
	}
	text, _, _ = strings.Cut(text, " #")
	text, _, _ = strings.Cut(text, "\t#")
	if text = strings.TrimSpace(text); text == "" {
		return nil
	}
	if !strings.HasPrefix(text, "-") {
		return r.requirement(text)
	}
	option, value := splitOption(text)
	switch option {
	case "-r", "--requirement", "-c", "--constraint":
		name := path.Join(path.Dir(file), value)
		if value == "" || r.files(name) == nil {
			return fmt.Errorf("there is no file %s; add it to files, or remove the line", name)
		}
		if option == "-c" || option == "--constraint" {
			before := r.constraints
			r.constraints = true
			defer func() { r.constraints = before }()
		}
		return r.include(name)
	case "--require-hashes":
		r.mustHash = true
		return nil
	case "--prefer-binary", "--only-binary":
		return nil // no other choice here
	case "-i", "--index-url", "--extra-index-url", "-f", "--find-links", "--no-index", "--trusted-host":
		return fmt.Errorf("the option %s is not supported: packages come from the index that the server is configured with; remove the line", option)
	case "-e", "--editable":
		return fmt.Errorf("the option %s is not supported: the files are there already, put their directory on sys.path; remove the line", option)
	}
	return fmt.Errorf("the option %s is not supported; remove the line", option)
}

// splitOption splits "-r file", "-rfile", "--option value" and "--option=value".
func splitOption(text string) (option, value string) {
	if !strings.HasPrefix(text, "--") && len(text) > 2 {
		return text[:2], strings.TrimLeft(text[2:], " \t=")
	}
	if end := strings.IndexAny(text, " \t="); end >= 0 {
		return text[:end], strings.TrimLeft(text[end:], " \t=")
	}
	return text, ""
}

// requirement reads a requirement with its options.
func (r *filesReader) requirement(text string) error {
	text, options, _ := strings.Cut(strings.ReplaceAll(text, "\t", " "), " --")
	q, err := Parse(strings.TrimSpace(text))
	if err != nil {
		return err
	}
	if options != "" {
		for option := range strings.SplitSeq(options, " --") {
			name, value := splitOption("--" + strings.TrimSpace(option))
			sum, ok := strings.CutPrefix(strings.ToLower(strings.TrimSpace(value)), "sha256:")
			switch {
			case name != "--hash":
				return fmt.Errorf("the option %s is not supported; remove it", name)
			case !ok || !sha256Pattern.MatchString(sum):
				return fmt.Errorf("%.100q is not a hash of SHA-256, the only kind that is supported", value)
			}
			r.found.Hashes[q.Name] = append(r.found.Hashes[q.Name], sum)
		}
	}
	return r.add(q)
}

func (r *filesReader) add(q Requirement) error {
	if len(r.found.Requirements)+len(r.found.Constraints) >= maxFileRequirements {
		return fmt.Errorf("there are more than %d requirements", maxFileRequirements)
	}
	if r.constraints {
		r.found.Constraints = append(r.found.Constraints, q)
	} else {
		r.found.Requirements = append(r.found.Requirements, q)
	}
	return nil
}

// project reads the dependencies of pyproject.toml.
func (r *filesReader) project() error {
	text := r.files(projectFile)
	if text == nil {
		return nil
	}
	var file struct {
		Project struct {
			Dependencies []string            `toml:"dependencies"`
			Optional     map[string][]string `toml:"optional-dependencies"`
		} `toml:"project"`
		Groups map[string][]any `toml:"dependency-groups"`
	}
	if len(text) > maxScript {
		return fmt.Errorf("%s is too long", projectFile)
	}
	if err := toml.Unmarshal(bytes.TrimPrefix(text, []byte("\ufeff")), &file); err != nil {
		return fmt.Errorf("%s: %w", projectFile, tomlError(err))
	}
	for _, text := range file.Project.Dependencies {
		q, err := Parse(text)
		if err == nil {
			err = r.add(q)
		}
		if err != nil && !r.lenient {
			return fmt.Errorf("%s: %w", projectFile, err)
		}
	}
	groups := slices.Concat(slices.Collect(maps.Values(file.Project.Optional))...)
	for _, group := range file.Groups {
		for _, item := range group {
			if text, ok := item.(string); ok { // else it includes another group
				groups = append(groups, text)
			}
		}
	}
	return r.addGroups(groups)
}

// addGroups makes constraints of the requirements in the groups of pyproject.toml.
// Nobody says which groups are meant, but what they agree on of a version is.
func (r *filesReader) addGroups(texts []string) error {
	slices.Sort(texts)
	specifiers := map[string]map[string]bool{}
	var all []Requirement
	for _, text := range texts {
		q, err := Parse(text)
		if err != nil || q.Specifier == "" {
			continue // a URL, say
		}
		if specifiers[q.Name] == nil {
			specifiers[q.Name] = map[string]bool{}
			all = append(all, Requirement{Name: q.Name, Specifier: q.Specifier, Marker: q.Marker})
		}
		specifiers[q.Name][q.Specifier+q.Marker] = true
	}
	r.constraints = true
	for _, q := range all {
		if len(specifiers[q.Name]) > 1 {
			continue
		}
		if err := r.add(q); err != nil {
			return fmt.Errorf("%s: %w", projectFile, err)
		}
	}
	return nil
}
