package main

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"path"
	"slices"
	"strings"
	"text/template"
)

//go:embed templates
var templates embed.FS

// render executes a template on the release.
func (r *release) render(name string, data any) ([]byte, error) {
	text, err := templates.ReadFile("templates/" + name)
	if err != nil {
		return nil, err
	}
	t, err := template.New(name).Option("missingkey=error").Parse(string(text))
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = t.Execute(&b, data)
	return b.Bytes(), err
}

// download is a row of what installers choose from.
type download struct {
	OS, Arch, Winget  string
	URL, Name, SHA256 string
}

// installers writes what downloads an archive and compares its digest: scripts, and the
// manifests of package managers. The digests stand in them, so that whoever changes an
// archive must change what installs it, too.
func (r *release) installers(context.Context) error {
	data := struct {
		names
		Version, Base string
		Systems       []string // that Homebrew has
		Downloads     []download
	}{r.names, r.Version, r.Downloads + "/v" + r.Version, nil, nil}
	for _, p := range r.platforms {
		if p.OS != "windows" && !slices.Contains(data.Systems, p.OS) {
			data.Systems = append(data.Systems, p.OS)
		}
		a := r.archives[p]
		data.Downloads = append(data.Downloads, download{p.OS, p.Arch, p.winget, data.Base + "/" + a.Name, a.Name, a.SHA256})
	}
	for name, to := range map[string]string{
		"install.sh": "download", "install.ps1": "download", "coderunner.rb": "homebrew", "coderunner.json": "scoop",
		"coderunner.yaml": "winget", "coderunner.installer.yaml": "winget", "coderunner.locale.en-US.yaml": "winget",
	} {
		text, err := r.render(name, data)
		if err != nil {
			return err
		}
		if to == "winget" {
			name = r.Publisher + "." + name
		}
		if _, err := r.write(path.Join(to, name), text, 0o755); err != nil {
			return err
		}
	}
	return nil
}

// checksums writes the digests of what people download.
func (r *release) checksums(context.Context) error {
	var b strings.Builder
	for _, a := range r.sums {
		fmt.Fprintf(&b, "%s  %s\n", a.SHA256, a.Name)
	}
	_, err := r.write("download/SHA256SUMS", []byte(b.String()), 0o644)
	return err
}
