package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"coderunner/internal/clients"
)

// launcher starts this version by a package instead of by the path of this binary, for
// machines that have the launcher and not us.
type launcher struct {
	flag, usage string
	name        *string // of the package, which releases know
	command     func(name string) []string
}

// The entries name the version: it starts without asking a registry, and what a client
// runs changes only when its entry does.
var launchers = []launcher{
	{"npx", "start it by npx, from npm", &npmPackage, func(name string) []string {
		npx := []string{"npx", "-y", "--prefer-offline", name + "@" + version}
		if runtime.GOOS == "windows" { // where npx is a batch file
			npx = append([]string{"cmd", "/c"}, npx...)
		}
		return npx
	}},
	{"uvx", "start it by uvx, from PyPI", &pypiPackage, func(name string) []string {
		return []string{"uvx", "--from", name + "==" + strings.Replace(version, "-rc.", "rc", 1), "coderunner"}
	}},
	{"docker", "start it in a container, whose cache and sessions are in the volume coderunner", &image, func(name string) []string {
		return []string{"docker", "run", "-i", "--rm", "-v", "coderunner:/var/cache/coderunner", name + ":" + version}
	}},
}

// addLaunchers adds the flags of the launchers.
func addLaunchers(cmd *cobra.Command) {
	exclusive := []string{"http"}
	for _, l := range launchers {
		cmd.Flags().Bool(l.flag, false, l.usage)
		exclusive = append(exclusive, l.flag)
	}
	cmd.MarkFlagsMutuallyExclusive(exclusive...)
}

// launchBy replaces the command of an entry by the launcher that the flags name.
func launchBy(cmd *cobra.Command, to clients.Server) (clients.Server, error) {
	for _, l := range launchers {
		if f := cmd.Flags().Lookup(l.flag); f.Value.String() != "true" {
			continue
		}
		if *l.name == "" || version == "" {
			return to, fmt.Errorf("--%s: this binary was not built as a release, and knows no package; leave --%s out, and the entry has the path of this binary", l.flag, l.flag)
		}
		args := strings.Join(to.Args, " ")
		if l.name == &image && (strings.Contains(args, "--allow-read") || strings.Contains(args, "--allow-write")) {
			return to, errors.New("--docker: a container sees no directories of this machine; leave --allow-read and --allow-write out, or write the entry by hand with a -v for each")
		}
		command := l.command(*l.name)
		to.Command, to.Args = command[0], append(command[1:], to.Args...)
	}
	return to, nil
}

// introduce says to a person what this is: at a terminal nobody types JSON.
func introduce() bool {
	if !term.IsTerminal(int(os.Stdin.Fd())) {
		return false
	}
	fmt.Printf(`coderunner %s runs Python, JavaScript, TypeScript and bash programs in a sandbox.

  coderunner config CLIENT --write   adds it to an AI client: %s
  coderunner run FILE                runs a program; what it imports is installed
  coderunner repl                    runs what you type, statement by statement

coderunner --help has the other commands, coderunner doctor what works on this machine.
Where its input is a pipe, as from a client, it serves MCP.
`, ownVersion(), strings.Join(clients.Names()[:3], ", ")+" …")
	return true
}
