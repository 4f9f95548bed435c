package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"fmt"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"

	"coderunner/internal/versions"
)

// sboms writes for each platform what its binary is made of, in the format of CycloneDX:
// the modules that the linker noted in it, and the runtimes that the first run fetches.
func (r *release) sboms(context.Context) error {
	for _, p := range r.platforms {
		info, err := buildinfo.Read(bytes.NewReader(r.binaries[p]))
		if err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
		self := cdx.Component{BOMRef: "coderunner", Type: cdx.ComponentTypeApplication, Name: "coderunner", Version: r.Version,
			PackageURL: "pkg:golang/" + r.Module + "@v" + r.Version, Licenses: &cdx.Licenses{{License: &cdx.License{ID: "MIT"}}}}
		parts := []cdx.Component{{Type: cdx.ComponentTypeLibrary, Name: "std", Version: info.GoVersion, PackageURL: "pkg:golang/std@" + info.GoVersion[2:]}}
		for _, m := range info.Deps {
			c := cdx.Component{Type: cdx.ComponentTypeLibrary, Name: m.Path, Version: m.Version, PackageURL: "pkg:golang/" + m.Path + "@" + m.Version}
			if m.Replace != nil {
				c.Description = "replaced by a copy in this project"
			}
			parts = append(parts, c)
		}
		for _, f := range [][3]string{
			{"Deno", versions.DenoVersion, "pkg:npm/deno@" + versions.DenoVersion},
			{"Pyodide", versions.PyodideVersion, "pkg:npm/pyodide@" + versions.PyodideVersion},
			{"CPython", versions.CPythonVersion, "pkg:generic/cpython@" + versions.CPythonVersion},
		} {
			parts = append(parts, cdx.Component{Type: cdx.ComponentTypePlatform, Name: f[0], Version: f[1], PackageURL: f[2], Scope: cdx.ScopeOptional,
				Description: "fetched by the first run, or in the image"})
		}
		refs := make([]string, len(parts))
		for i := range parts {
			parts[i].BOMRef, refs[i] = parts[i].PackageURL, parts[i].PackageURL
		}
		bom := cdx.NewBOM()
		bom.Metadata = &cdx.Metadata{Timestamp: r.date.Format(time.RFC3339), Component: &self}
		bom.Components, bom.Dependencies = &parts, &[]cdx.Dependency{{Ref: self.BOMRef, Dependencies: &refs}}
		var b bytes.Buffer
		if err := cdx.NewBOMEncoder(&b, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom, cdx.SpecVersion1_6); err != nil {
			return err
		}
		if _, err := r.offer(fmt.Sprintf("coderunner_%s_%s_%s.cdx.json", r.Version, p.OS, p.Arch), b.Bytes()); err != nil {
			return err
		}
	}
	return nil
}
