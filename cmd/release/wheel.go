package main

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"regexp"
	"strings"
)

// pythonVersion returns the version as PyPI writes it.
func (r *release) pythonVersion() string { return strings.Replace(r.Version, "-rc.", "rc", 1) }

// wheels makes a wheel for each platform: the binary is a script of it, which pip and uv
// put where scripts are, so that no Python starts.
func (r *release) wheels(context.Context) error {
	about := r.about("uvx", r.uvxArgs())
	project := strings.ToLower(regexp.MustCompile(`[-_.]+`).ReplaceAllString(r.PyPI, "_"))
	for _, p := range r.platforms {
		stem := project + "-" + r.pythonVersion()
		info := stem + ".dist-info/"
		metadata := fmt.Sprintf("Metadata-Version: 2.4\nName: %s\nVersion: %s\nSummary: %s\nHome-page: %s\nLicense-Expression: MIT\nLicense-File: LICENSE\nDescription-Content-Type: text/markdown\n\n<!-- mcp-name: %s -->\n\n%s",
			r.PyPI, r.pythonVersion(), description, r.Homepage, r.Registry, about.data)
		var tags strings.Builder
		for tag := range strings.SplitSeq(p.wheel, ".") {
			fmt.Fprintf(&tags, "Tag: py3-none-%s\n", tag)
		}
		files := []file{
			{stem + ".data/scripts/" + p.executable(), 0o755, r.binaries[p]},
			{info + "METADATA", 0o644, []byte(metadata)},
			{info + "WHEEL", 0o644, []byte("Wheel-Version: 1.0\nGenerator: coderunner release\nRoot-Is-Purelib: false\n" + tags.String())},
		}
		runtimes, err := r.runtimes(p, stem+".data/data/"+p.scripts())
		if err != nil {
			return err
		}
		files = append(files, runtimes...)
		for _, f := range r.common {
			files = append(files, file{info + "licenses/" + f.name, f.mode, f.data})
		}
		var record strings.Builder
		for _, f := range files {
			sum := sha256.Sum256(f.data)
			fmt.Fprintf(&record, "%s,sha256=%s,%d\n", f.name, base64.RawURLEncoding.EncodeToString(sum[:]), len(f.data))
		}
		record.WriteString(info + "RECORD,,\n")
		data, err := zipped(append(files, file{info + "RECORD", 0o644, []byte(record.String())}), r.date)
		if err != nil {
			return err
		}
		if _, err := r.write(fmt.Sprintf("pypi/%s-py3-none-%s.whl", stem, p.wheel), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// uvxArgs returns the arguments that uvx needs: the project's name alone if it is the command's.
func (r *release) uvxArgs() []string {
	if r.PyPI == "coderunner" {
		return []string{r.PyPI}
	}
	return []string{"--from", r.PyPI, "coderunner"}
}
