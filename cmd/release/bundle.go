package main

import (
	"context"
	"fmt"
	"path"
)

// userConfig are the questions that a client asks before it installs a bundle, each with
// the permission flag that the answer is for. Without answers nothing is permitted.
var userConfig = []struct {
	name, flag string
	option     map[string]any
}{
	{"hosts", "--allow-net", map[string]any{"type": "string", "title": "Hosts", "default": "",
		"description": "Hosts that programs may connect to, separated by commas, such as api.example.com. Empty: none."}},
	{"read", "--allow-read", map[string]any{"type": "directory", "title": "Folders to read", "multiple": true, "default": []string{},
		"description": "Folders of this computer that programs may read. Empty: none."}},
	{"write", "--allow-write", map[string]any{"type": "directory", "title": "Folders to write", "multiple": true, "default": []string{},
		"description": "Folders of this computer in which programs may change files. Empty: none."}},
}

// bundles makes a .mcpb for each platform: an archive that clients install by a click. It
// starts by the client's own Node, since an unpacked binary is not started on macOS.
func (r *release) bundles(context.Context) error {
	options, args := map[string]any{}, []string{"${__dirname}/server/bundle.js"}
	for _, o := range userConfig {
		options[o.name] = o.option
		args = append(args, o.flag, "${user_config."+o.name+"}")
	}
	launcher, err := r.render("coderunner.js", r)
	if err != nil {
		return err
	}
	start, err := r.render("bundle.js", r)
	if err != nil {
		return err
	}
	icon, err := templates.ReadFile("templates/icon.png")
	if err != nil {
		return err
	}
	r.bundled = map[platform]*artifact{}
	for _, p := range r.platforms {
		manifest, err := marshal(map[string]any{
			"manifest_version": "0.3", "name": "coderunner", "display_name": "coderunner", "version": r.Version, "description": description,
			"author": map[string]any{"name": r.Publisher, "url": r.Homepage}, "homepage": r.Homepage, "license": "MIT", "icon": "icon.png",
			"server":          map[string]any{"type": "node", "entry_point": "server/bundle.js", "mcp_config": map[string]any{"command": "node", "args": args}},
			"tools":           []map[string]any{{"name": "run_code", "description": "Runs a program in a sandbox"}},
			"tools_generated": true, "user_config": options,
			"compatibility": map[string]any{"platforms": []string{p.node}, "runtimes": map[string]any{"node": ">=18"}},
		})
		if err != nil {
			return err
		}
		pack, err := marshal(nodeManifest{Name: r.NPM, Version: r.Version, License: "MIT", Optional: map[string]string{r.npmName(p): r.Version}})
		if err != nil {
			return err
		}
		files := append([]file{{"manifest.json", 0o644, manifest}, {"icon.png", 0o644, icon}}, r.common...)
		files = append(files, file{"server/bundle.js", 0o644, start}, file{"server/coderunner.js", 0o644, launcher}, file{"server/package.json", 0o644, pack},
			file{path.Join("server/node_modules", r.npmName(p), p.executable()), 0o755, r.binaries[p]})
		data, err := zipped(files, r.date)
		if err != nil {
			return err
		}
		if r.bundled[p], err = r.offer(fmt.Sprintf("coderunner_%s_%s_%s.mcpb", r.Version, p.OS, p.Arch), data); err != nil {
			return err
		}
	}
	return nil
}
