package python

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"

	"coderunner/internal/notebook"
	"coderunner/internal/trace"
	"coderunner/pyodide"
	"coderunner/runners"
)

// errAnalysisLimit is the cause of an analysis that exceeds the time limit.
var errAnalysisLimit = errors.New("the program takes too long to parse")

// analyze parses the program, within the program's time limit.
func (j *job) analyze(ctx context.Context) (*pyodide.Analysis, error) {
	defer trace.Begin("analyse the program")()
	ctx, cancel := context.WithTimeoutCause(ctx, j.req.Limits.Timeout, errAnalysisLimit)
	defer cancel()
	source := pyodide.Source{Code: j.req.Code, Name: shownName(j.req), Memory: j.req.Limits.Memory}
	source.Words = j.continued != nil && len(j.pk.Current().Installed) > 0
	for _, f := range j.req.Files {
		if strings.HasSuffix(f.Path, ".ipynb") && strings.Contains(j.req.Code, "%run") {
			if code, _, _, err := notebook.Read(f.Data); err == nil {
				f.Path, f.Data = f.Path+".py", []byte(code)
			}
		}
		source.Files = append(append(source.Files, pyodide.File{Path: f.Path, Data: f.Data}), archived(f)...)
	}
	source.Files = append(source.Files, j.sessionModules()...)
	var found *pyodide.Analysis
	var err error
	if j.req.Project != nil {
		found, err = j.analyzeProject(ctx, source)
	} else {
		found, err = j.engine.rt.Analyze(ctx, source)
	}
	if err != nil {
		return nil, err
	}
	others := *found // another run may have the same
	others.Imports = slices.DeleteFunc(slices.Clone(found.Imports), func(i pyodide.Import) bool { return isTools(i.Name) })
	others.Members = slices.DeleteFunc(slices.Clone(found.Members), isTools)
	return &others, nil
}

// isTools reports whether a module, or a member of one, is what programs call tools by. No
// import of it means PyPI's project of that name, also where there are no tools.
func isTools(name string) bool {
	rest, ok := strings.CutPrefix(name, "tools")
	return ok && (rest == "" || rest[0] == '.' || rest[0] == ':')
}

// maxArchived bounds the entries read of an archive.
const maxArchived = 10_000

// archived returns the modules in f, without contents, if it is an archive that
// sys.path may have.
func archived(f runners.File) (files []pyodide.File) {
	if !bytes.HasPrefix(f.Data, []byte("PK")) {
		return nil
	}
	z, err := zip.NewReader(bytes.NewReader(f.Data), int64(len(f.Data)))
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
		return nil
	}
	for _, e := range z.File[:min(len(z.File), maxArchived)] {
		if strings.HasSuffix(e.Name, ".py") || strings.HasSuffix(e.Name, ".pyc") {
			files = append(files, pyodide.File{Path: f.Path + "/" + e.Name})
		}
	}
	return files
}

// maxModule bounds the modules of a session's directory that are analysed, in bytes.
const maxModule = 4 << 20

// sessionModules returns the modules in the session's directory.
func (j *job) sessionModules() (files []pyodide.File) {
	if j.continued == nil {
		return nil
	}
	for _, f := range j.req.Session.Files {
		if strings.HasSuffix(f.Path, ".py") && f.Mode.IsRegular() && f.Size <= maxModule {
			data, _ := f.Read() // populate reports the error
			files = append(files, pyodide.File{Path: f.Path, Data: data})
		}
	}
	return files
}
