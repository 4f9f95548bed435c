package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// publish hands the files to the tools that upload them, whose logins are the user's. The
// launcher of npm comes after the packages that it needs, and the registry's entry last,
// since it names the others.
func (r *release) publish(ctx context.Context) error {
	for _, command := range r.uploads() {
		fmt.Fprintln(os.Stderr, "release:", strings.Join(command, " "))
		cmd := exec.CommandContext(ctx, command[0], command[1:]...)
		cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = r.out, os.Stdin, os.Stdout, os.Stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("%s: %w", strings.Join(command, " "), err)
		}
	}
	return nil
}

// uploads returns the commands, in the directory of the release.
func (r *release) uploads() (commands [][]string) {
	files := func(pattern string) (names []string) {
		found, _ := filepath.Glob(filepath.Join(r.out, filepath.FromSlash(pattern))) // a pattern of ours
		for _, name := range found {
			rel, _ := filepath.Rel(r.out, name)
			names = append(names, filepath.ToSlash(rel))
		}
		return names
	}
	tag := "latest"
	if strings.Contains(r.Version, "-") {
		tag = "next"
	}
	packages := []string{r.NPM}
	for _, p := range r.platforms {
		packages = append([]string{r.npmName(p)}, packages...)
	}
	for _, name := range packages {
		commands = append(commands, []string{"npm", "publish", "--access", "public", "--tag", tag, "./npm/" + r.npmFile(name)})
	}
	commands = append(commands, append([]string{"uv", "publish"}, files("pypi/*.whl")...))
	release := []string{"gh", "release", "create", "v" + r.Version, "--title", r.Version, "--generate-notes"}
	if tag == "next" {
		release = append(release, "--prerelease")
	}
	commands = append(commands, append(release, files("download/*")...))
	for _, f := range flavours {
		for _, dir := range files("images/" + f.name) {
			to := r.Image + ":" + r.Version
			if f.name != flavours[0].name {
				to += "-" + f.name
			}
			commands = append(commands, []string{"crane", "push", "--index", dir, to})
		}
	}
	return append(commands, []string{"mcp-publisher", "publish", "server.json"})
}
