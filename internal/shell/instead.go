package shell

import "sync"

// instead says what to use for commands that a machine has and this one has not. It
// follows the words "command not found".
var instead = sync.OnceValue(func() map[string]string {
	hints := map[string]string{}
	for _, row := range []struct {
		hint  string
		names []string
	}{
		{"leave it out: everything runs as root here", []string{"sudo", "su", "doas"}},
		{"nothing can be installed but packages of Python, by pip install", []string{"apt", "apt-get", "yum", "dnf", "apk", "brew", "snap"}},
		{"use diff -u and patch: there is no version control here", []string{"git", "hg", "svn"}},
		{"use --help of the command", []string{"man", "info"}},
		{"use ps: there is no terminal here", []string{"htop"}},
		{"use cat, head or tail: there is no terminal here", []string{"less", "more"}},
		{"use sed -i or a here-document: there is no terminal here", []string{"vi", "vim", "nano", "emacs"}},
		{"JavaScript is a language of its own here, not a command", []string{"node", "npm", "npx", "deno", "bun"}},
		{"use awk, sed or python3", []string{"perl", "ruby", "php"}},
		{"use curl or wget: other protocols are not available here", []string{"ssh", "scp", "sftp", "rsync", "nc", "telnet", "ping", "dig", "nslookup"}},
		{"there are no services here: start programs with &", []string{"systemctl", "service", "crontab", "docker", "tmux", "screen"}},
		{"nothing can be compiled to machine code here", []string{"gcc", "cc", "g++", "clang", "make", "cmake", "go", "cargo", "rustc"}},
	} {
		for _, name := range row.names {
			hints[name] = "; " + row.hint
		}
	}
	return hints
})
