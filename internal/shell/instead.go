package shell

import "sync"

// Instead returns what to use for a command that other machines have and this one has
// not, or "".
func Instead(command string) string { return instead()[command] }

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
		{"there are no programs for video or sound here; the Python package pillow writes pictures and GIFs", []string{"ffmpeg", "ffprobe", "convert", "magick", "sox"}},
		{"use a package of Python, such as fpdf2, pypdf or python-docx", []string{"pandoc", "pdflatex", "xelatex", "wkhtmltopdf", "soffice", "libreoffice", "pdftotext"}},
		{"nothing can be compiled to machine code here", []string{"gcc", "cc", "g++", "clang", "make", "cmake", "go", "cargo", "rustc", "java", "javac"}},
	} {
		for _, name := range row.names {
			hints[name] = row.hint
		}
	}
	return hints
})
