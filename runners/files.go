package runners

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// File is a file to write to the working directory.
type File struct {
	Path     string // relative, slash-separated, inside the working directory
	Data     []byte
	Modified time.Time // zero: when it is written
	Runs     bool      // it may be executed, whatever it begins with
}

// Perm returns the permission bits of the file: a script can be executed by its name.
func (f File) Perm() uint32 {
	if f.Runs || bytes.HasPrefix(f.Data, []byte("#!")) {
		return 0o755
	}
	return 0o644
}

// LeftFile is an entry of the working directory that a program made or changed.
type LeftFile struct {
	Path   string `json:"path"` // slash-separated, valid UTF-8
	Size   int64  `json:"size"`
	MIME   string `json:"mime"`             // by the name's ending and the contents
	SHA256 string `json:"sha256,omitempty"` // hexadecimal; "" if Data was not kept
	Data   []byte `json:"-"`                // nil if it is not a regular file, or exceeds the bounds
}

// Bounds of what is taken from a working directory.
const (
	maxLeft      = 1000     // files
	maxLeftWalk  = 20_000   // directory entries
	maxLeftBytes = 32 << 20 // of all files
)

// notLeft are directories whose contents are caches, not a program's results.
var notLeft = []string{"__pycache__", "node_modules", ".cache", ".config", ".local", ".npm", ".deno",
	".matplotlib", ".ipython", ".pytest_cache", ".hypothesis", ".mypy_cache", ".ruff_cache"}

// IsCache reports whether a file or directory is a cache, not a result.
func IsCache(name string, d fs.DirEntry) bool {
	if d.IsDir() {
		return slices.Contains(notLeft, path.Base(name))
	}
	return path.Ext(name) == ".pyc"
}

// SHA256 returns the SHA-256 of b, in hexadecimal.
func SHA256(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// FileSHA256 returns the SHA-256 of at most limit bytes of a file, in hexadecimal, and
// how many bytes it read.
func FileSHA256(dir fs.FS, name string, limit int64) (sum string, n int64, err error) {
	f, err := dir.Open(name)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	h := sha256.New()
	n, err = io.Copy(h, io.LimitReader(f, limit))
	return hex.EncodeToString(h.Sum(nil)), n, err
}

// DescribeFile returns an entry of a regular file.
func DescribeFile(name string, data []byte) LeftFile {
	return LeftFile{Path: name, Size: int64(len(data)), Data: data, MIME: typeOf(name, data)}
}

// NewLeftFile returns an entry with its contents, nil if those are not kept.
func NewLeftFile(name string, d fs.DirEntry, data []byte) LeftFile {
	f := LeftFile{Path: strings.ToValidUTF8(name, "\ufffd"), Size: int64(len(data)), Data: data, MIME: specialType(d.Type())}
	if f.MIME == "" {
		f.MIME = typeOf(name, data)
	}
	return f
}

// LeftFiles returns the files in a program's working directory that are not as
// they were given to it, also in the time if one was given, and how many more there
// are. It follows no symlinks and opens regular files only.
func LeftFiles(dir fs.FS, given []File) (left []LeftFile, omitted int) {
	were := make(map[string]File, len(given))
	for _, g := range given {
		were[g.Path] = g
	}
	var walked int
	var total int64
	_ = fs.WalkDir(dir, ".", func(name string, d fs.DirEntry, err error) error {
		if walked++; walked > maxLeftWalk {
			omitted++ // at least
			return fs.SkipAll
		}
		switch {
		case err != nil || d.IsDir():
			if name != "." && d != nil && d.IsDir() && (IsCache(name, d) || len(name) > maxPath) {
				return fs.SkipDir
			}
			return nil // what cannot be listed has no files to name
		case IsCache(name, d):
			return nil
		case len(left) >= maxLeft:
			omitted++
			return nil
		}
		file := LeftFile{Path: strings.ToValidUTF8(name, "\ufffd"), MIME: specialType(d.Type())}
		if file.MIME == "" {
			was, known := were[name]
			if !read(dir, name, maxLeftBytes-total, &file, was, known) {
				return nil
			}
			total += int64(len(file.Data))
		}
		left = append(left, file)
		return nil
	})
	return left, omitted
}

// read reads a regular file of at most room bytes. It reports whether the file
// is not what it was, if it was known.
func read(dir fs.FS, name string, room int64, file *LeftFile, was File, known bool) (changed bool) {
	file.MIME = typeOf(name, nil)
	f, err := dir.Open(name)
	if err != nil {
		return true
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return true
	}
	file.Size = info.Size()
	same := known && file.Size == int64(len(was.Data)) && (was.Modified.IsZero() || info.ModTime().Equal(was.Modified))
	if file.Size > room && !same {
		return true
	}
	data, err := io.ReadAll(io.LimitReader(f, file.Size))
	if err != nil {
		return true
	}
	if same && bytes.Equal(data, was.Data) {
		return false
	}
	if int64(len(data)) > room {
		return true
	}
	file.Data, file.Size, file.SHA256 = data, int64(len(data)), SHA256(data)
	file.MIME = typeOf(name, data)
	return true
}

// specialType returns the type of an entry that is not a regular file.
func specialType(m fs.FileMode) string {
	switch {
	case m.IsRegular():
		return ""
	case m&fs.ModeSymlink != 0:
		return "inode/symlink"
	case m&fs.ModeNamedPipe != 0:
		return "inode/fifo"
	case m&fs.ModeSocket != 0:
		return "inode/socket"
	}
	return "inode/device"
}

// types are the media types of common endings.
var types = map[string]string{
	".txt": "text/plain", ".log": "text/plain", ".py": "text/x-python", ".js": "text/javascript", ".ts": "text/typescript",
	".csv": "text/csv", ".tsv": "text/tab-separated-values", ".md": "text/markdown", ".html": "text/html", ".htm": "text/html",
	".css": "text/css", ".xml": "application/xml", ".json": "application/json", ".jsonl": "application/jsonl",
	".yaml": "application/yaml", ".yml": "application/yaml", ".toml": "application/toml", ".tex": "text/x-tex",
	".svg": "image/svg+xml", ".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp",
	".pdf": "application/pdf", ".zip": "application/zip", ".gz": "application/gzip", ".sqlite": "application/vnd.sqlite3", ".db": "application/vnd.sqlite3",
	".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", ".parquet": "application/vnd.apache.parquet",
	".pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
	".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document", ".wav": "audio/wav", ".mp3": "audio/mpeg", ".mp4": "video/mp4",
}

// Extension returns the usual ending of a file of a media type, with its dot.
func Extension(mime string) string {
	for ending, t := range types {
		if t == mime && ending != ".htm" && ending != ".jpeg" && ending != ".yml" && ending != ".db" {
			return ending
		}
	}
	switch {
	case strings.HasSuffix(mime, "+json"):
		return ".json"
	case mime == "text/latex": // as notebooks call it
		return ".tex"
	}
	return ".bin"
}

// typeOf returns a file's media type, which is an image's or a text's only for
// data that is one.
func typeOf(name string, data []byte) string {
	for t, signature := range signatures {
		if bytes.HasPrefix(data, []byte(signature)) && (t != "image/webp" || len(data) > 12 && string(data[8:12]) == "WEBP") {
			return t
		}
	}
	t := types[strings.ToLower(path.Ext(name))]
	text := data != nil && utf8.Valid(data) && !bytes.ContainsRune(data, 0)
	switch {
	case data == nil && t != "":
		return t
	case t == "" && text:
		return "text/plain"
	case t == "", signatures[t] != "", strings.HasPrefix(t, "text/") && !text:
		return "application/octet-stream"
	}
	return t
}

// Of a path, in bytes; that of a part is file systems'.
const (
	maxPath     = 1024
	maxPathPart = 255
)

// workDir is where Python programs find themselves, which models then write, and workLink
// a link to it.
const (
	workDir  = "/home/user/"
	workLink = "/mnt/data/"
)

// CleanPath returns the path of a file as [File] has it: programs and people
// also write ./data.csv, and absolute paths in the working directory.
func CleanPath(name string) string {
	trimmed := strings.TrimPrefix(strings.TrimPrefix(name, workDir), workLink)
	if ValidPath(path.Clean(trimmed)) && !strings.HasSuffix(name, "/") {
		return path.Clean(trimmed)
	}
	return name // which Check refuses
}

// ValidPath reports whether a file of a request may have the path.
func ValidPath(path string) bool {
	if !fs.ValidPath(path) || path == "." || len(path) > maxPath || strings.ContainsAny(path, "\\\x00") {
		return false
	}
	for part := range strings.SplitSeq(path, "/") {
		if len(part) > maxPathPart {
			return false
		}
	}
	return true
}
