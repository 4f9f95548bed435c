package shell

import "sync"

// Instead returns what to use for a command that other machines have and this one has
// not, or "".
func Instead(command string) string { return instead()[command] }

var instead = sync.OnceValue(func() map[string]string {
	hints := map[string]string{}
	for _, row := range missing {
		for _, name := range row.names {
			hints[name] = row.hint
		}
	}
	return hints
})

// missing are commands that other machines have, and what to use.
var missing = []struct {
	hint  string
	names []string
}{
	{"leave it out: everything runs as root here", []string{"sudo", "su", "doas", "chroot", "passwd", "useradd", "adduser", "usermod", "groupadd", "visudo", "runuser"}},
	{"nothing can be installed but packages of Python, by pip install", []string{"apt", "apt-get", "dpkg", "yum", "dnf", "apk", "pacman", "brew", "snap"}},
	{"use diff -u and patch: there is no version control here", []string{"git", "hg", "svn", "gh"}},
	{"use --help of the command", []string{"man", "info", "whatis", "apropos"}},
	{"use ps: there is no terminal here", []string{"htop", "pstree", "btop"}},
	{"write a loop with sleep: there is no terminal here", []string{"watch"}},
	{"write what it asks for with read: there is no terminal here", []string{"dialog", "whiptail", "fzf", "zenity"}},
	{"use cat, head or tail: there is no terminal here", []string{"less", "more", "bat", "zless"}},
	{"use sed -i or a here-document: there is no terminal here", []string{"vi", "vim", "nano", "emacs", "ed", "ex"}},
	{"JavaScript is a language of its own here, not a command: run the file, one of tests too, with the language javascript, and import packages by name", []string{"node", "npm", "npx", "yarn", "pnpm", "deno", "bun", "bunx", "tsc", "tsx", "ts-node", "jest", "vitest", "mocha", "eslint", "prettier", "webpack", "vite", "esbuild", "nodemon", "pm2"}},
	{"use awk, sed or python3", []string{"perl", "ruby", "php", "lua", "tclsh", "Rscript", "mlr", "csvcut"}},
	{"use bash: this is the only shell here", []string{"zsh", "dash", "ksh", "fish", "csh"}},
	{"use curl or wget: other protocols are not available here", []string{"ssh", "scp", "sftp", "ssh-keygen", "ssh-copy-id", "telnet", "ftp", "ping", "dig", "nslookup", "host", "traceroute", "nmap", "aws", "gcloud", "mail", "sendmail"}},
	{"use cp -a, or tar: it copies between directories here", []string{"rsync"}},
	{"use bash's /dev/tcp/HOST/PORT, curl or python3's socket", []string{"nc", "ncat", "netcat", "socat"}},
	{"the only interface is the loopback, 127.0.0.1", []string{"ip", "ifconfig", "netstat", "ss", "lsof", "fuser", "route", "arp", "iptables", "ufw"}},
	{"there are no services here: start the program itself, in the background", []string{"systemctl", "service", "supervisorctl"}},
	{"there are no containers here: start the program itself", []string{"docker", "docker-compose", "podman", "kubectl", "helm"}},
	{"nothing runs after a call: write a loop with sleep", []string{"crontab", "at"}},
	{"programs' output is on stdout and stderr, or where they write it", []string{"journalctl"}},
	{"there is no terminal here: start programs in the background", []string{"tmux", "screen"}},
	{"there are no devices here", []string{"mount", "umount", "lsblk", "blkid", "fdisk", "mkfs", "losetup", "dmesg", "lspci", "lsusb", "modprobe", "sysctl", "iostat", "vmstat", "sar", "swapon", "xdg-open", "pbcopy", "pbpaste", "xclip", "notify-send"}},
	{"use sqlite3: other databases are not available here", []string{"psql", "mysql", "mariadb", "mongo", "mongosh", "redis-cli"}},
	{"use python3 (json, yaml, xml.etree), or jq for JSON", []string{"yq", "xmllint", "xmlstarlet", "xsltproc", "tidy"}},
	{"use xargs -P, or & and wait", []string{"parallel"}},
	{"use column, paste, fold or nl", []string{"pr"}},
	{"use whoami or id: nobody logs in here", []string{"who", "w", "users", "last", "lastlog", "finger"}},
	{"use echo $LANG: the only locale is C.UTF-8", []string{"locale", "localedef", "locale-gen", "update-locale"}},
	{"use hostname, uname or date", []string{"hostnamectl", "timedatectl"}},
	{"write the answers to the program's stdin: there is no terminal here", []string{"expect", "script", "unbuffer"}},
	{"use bash -n, which checks the syntax", []string{"shellcheck"}},
	{"use du", []string{"ncdu"}},
	{"use grep -r", []string{"rg", "ag", "ack"}},
	{"use find", []string{"fd", "locate", "mlocate"}},
	{"use bc, or $((…))", []string{"dc"}},
	{"use cal", []string{"ncal"}},
	{"use mv in a loop: for f in *.txt; do mv \"$f\" \"${f%.txt}.md\"; done", []string{"rename", "prename", "mmv"}},
	{"use diff twice", []string{"diff3"}},
	{"use md5sum", []string{"md5"}},
	{"leave it out of the pipeline", []string{"pv", "ts", "lolcat", "ccze"}},
	{"use gzip or xz", []string{"zstd", "unzstd", "lzma", "lz4", "brotli", "compress"}},
	{"use tar or zip", []string{"7z", "7za", "rar", "unrar", "cpio", "ar"}},
	{"use openssl enc, or Python's cryptography", []string{"gpg", "gpg2", "age"}},
	{"there are no programs for video or sound here; the Python package pillow writes pictures and GIFs", []string{"ffmpeg", "ffprobe", "convert", "magick", "identify", "sox"}},
	{"use Python's matplotlib", []string{"gnuplot", "dot"}},
	{"use a package of Python, such as fpdf2, pypdf or python-docx", []string{"pandoc", "pdflatex", "xelatex", "wkhtmltopdf", "soffice", "libreoffice", "pdftotext"}},
	{"call what its targets run: a Makefile's recipes are shell commands, and nothing can be compiled to machine code here", []string{"make", "gmake", "just", "ninja"}},
	{"nothing can be compiled to machine code here", []string{"gcc", "cc", "g++", "c++", "clang", "clang++", "ld", "cmake", "go", "cargo", "rustc", "java", "javac", "mvn", "gradle", "dotnet", "ghc", "swift"}},
	{"set -x shows what bash does", []string{"strace", "ltrace", "gdb"}},
}
