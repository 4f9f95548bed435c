package main

import (
	"context"
	"maps"
)

// serverSchema is the form of server.json, by the name that the registry of MCP servers
// gives it.
const serverSchema = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"

// serverVariables are the settings that clients ask their users for.
var serverVariables = []map[string]any{
	{"name": "DENO_PERMISSION_ARGS", "description": "Permissions of programs, as Deno's flags, such as --allow-net=api.example.com; none by default", "isRequired": false, "isSecret": false},
	{"name": "CODE_RUNNER_SECRETS", "description": "Variables whose values programs can use and not see, each with its host: API_KEY=api.example.com", "isRequired": false, "isSecret": true},
}

// serverJSON makes the entry of the registry of MCP servers.
func (r *release) serverJSON(context.Context) error {
	entry := func(kind, identifier string, more map[string]any) map[string]any {
		e := map[string]any{"registryType": kind, "identifier": identifier, "transport": map[string]any{"type": "stdio"}, "environmentVariables": serverVariables}
		maps.Copy(e, more)
		return e
	}
	packages := []map[string]any{entry("npm", r.NPM, map[string]any{"version": r.Version, "runtimeHint": "npx"})}
	if r.PyPI == "coderunner" { // clients start the command of the project's name
		packages = append(packages, entry("pypi", r.PyPI, map[string]any{"version": r.pythonVersion(), "runtimeHint": "uvx"}))
	}
	packages = append(packages, entry("oci", r.Image+":"+r.Version, map[string]any{"runtimeHint": "docker"}))
	for _, p := range r.platforms {
		a := r.bundled[p]
		packages = append(packages, entry("mcpb", r.Downloads+"/v"+r.Version+"/"+a.Name, map[string]any{"fileSha256": a.SHA256}))
	}
	text, err := marshal(map[string]any{
		"$schema": serverSchema, "name": r.Registry, "title": "coderunner", "description": description, "version": r.Version, "websiteUrl": r.Homepage,
		"packages": packages,
	})
	if err == nil {
		_, err = r.write("server.json", text, 0o644)
	}
	return err
}
