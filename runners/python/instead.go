package python

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"coderunner/runners"
	"coderunner/runners/python/imports"
	"coderunner/runners/python/requirement"
	"coderunner/runners/python/resolver"
)

// instead has what to write in place of packages that often cannot be installed:
// a project, or modules of Python's library.
var instead = map[string]string{
	"polars": "pandas", "pyspark": "pandas", "dask": "pandas", "duckdb": "sqlite3", "modin": "pandas",
	"pandas": "csv, sqlite3 and statistics", "numpy": "array, math and statistics", "scipy": "math and statistics",
	"psycopg": postgres, "psycopg2": postgres, "psycopg2-binary": postgres, "mysqlclient": mysql, "mysql-connector-python": mysql,
	"opencv-python": "pillow", "opencv-python-headless": "pillow", "pillow": "the text of an SVG file",
	"matplotlib": "the text of an SVG file", "seaborn": "matplotlib", "plotly": "matplotlib",
	"torch": "numpy", "tensorflow": "numpy", "keras": "numpy", "jax": "numpy", "numba": "numpy",
	"torchvision": "pillow", "onnxruntime": "numpy", "statsmodels": "numpy", "scikit-learn": "numpy", "h5py": "numpy", "faiss-cpu": "numpy",
	"xgboost": "scikit-learn", "lightgbm": "scikit-learn", "catboost": "scikit-learn", "prophet": "numpy", "librosa": "wave and array",
	"transformers": "a model's HTTP API, where network access is allowed", "sentence-transformers": "collections.Counter and math",
	"tiktoken": "len(text) / 4 as an estimate", "spacy": "re and collections", "chromadb": "sqlite3",
	"pyarrow": "CSV or JSON files", "fastparquet": "CSV or JSON files", "shapely": "math", "geopandas": "json and math",
	"asyncpg": postgres, "pyodbc": "sqlite3", "pymssql": "sqlite3", "grpcio": "http.server and json", "pyzmq": "sockets or queue.Queue",
	"lxml": "xml.etree.ElementTree and html.parser", "regex": "re",
	"uvloop": "asyncio", "gevent": "asyncio", "ray": "multiprocessing", "pycurl": "requests", "scrapy": "requests and beautifulsoup4",
	"pynacl": "hashlib, hmac and secrets", "paramiko": "subprocess (there is no other machine)", "xxhash": "hashlib",
	"cvxpy": "scipy", "cvxpy-base": "scipy", "ortools": "scipy", "cvxopt": "scipy", "mip": "scipy", "pyscipopt": "scipy",
	"litellm": "a model's HTTP API, where network access is allowed", "tokenizers": "re", "sentencepiece": "re", "llama-cpp-python": "a model's HTTP API, where network access is allowed",
	"pikepdf": "pypdf", "pymupdf": "pypdf", "weasyprint": "reportlab",
	"audioop-lts": "array and wave", "soundfile": "wave and array", "pyaudio": "wave (there is no sound)", "sounddevice": "wave (there is no sound)", "python-rtmidi": "mido's files (there are no ports)",
	"zstandard": "compression.zstd", "brotli": "gzip", "python-snappy": "zlib", "lz4": "zlib", "blosc": "zlib",
	"apsw": "sqlite3", "pysqlite3": "sqlite3", "lmdb": "dbm", "plyvel": "dbm", "confluent-kafka": "queue.Queue",
	"nh3": "bleach", "mmh3": "hashlib", "libcst": "ast", "gensim": "numpy and collections.Counter", "gmpy2": "int and fractions", "igraph": "networkx", "pygraphviz": "networkx", "annoy": "numpy", "hnswlib": "numpy",
	"mediapipe": "pillow", "moviepy": "pillow", "av": "pillow", "hdbscan": "scikit-learn", "umap-learn": "scikit-learn", "scikit-surprise": "numpy", "implicit": "numpy",
	"argon2-cffi-bindings": "bcrypt or hashlib.scrypt",
	"authlib":              "pyjwt", "bitstring": "struct and int.to_bytes", "bitarray": "int and bytearray",
	"cryptography": "hashlib, hmac and secrets", "pycryptodome": "hashlib, hmac and secrets",
	"selenium": "html.parser (there is no browser)", "playwright": "html.parser (there is no browser)",
	"pygame": "the text of an SVG file (there are no windows)", "pygame-ce": "the text of an SVG file (there are no windows)", "pyqt5": "the text of an SVG file (there are no windows)",
	"pyqt6": "the text of an SVG file (there are no windows)", "pyside6": "the text of an SVG file (there are no windows)",
	"streamlit": "print() and matplotlib (nobody would see its page)", "gradio": "print() and matplotlib (nobody would see its page)",
	"moto": "botocore.stub.Stubber", "yfinance": "data in a file, or requests where network access is allowed",
	"kivy": "the text of an SVG file (there are no windows)", "wxpython": "the text of an SVG file (there are no windows)",
}

const (
	postgres = "sqlite3, or pg8000 for a server that network access allows"
	mysql    = "sqlite3, or pymysql for a server that network access allows"
)

// neededBy finds the package that wants one that cannot be installed in the
// resolver's reason.
var neededBy = regexp.MustCompile(`\(needed by ([a-z0-9-]+) `)

// wanting returns the package that needs one that cannot be installed, or that
// itself where the program asks for it: what replaces lxml is of no use to a program
// that imports python-docx.
func wanting(project, why string) string {
	if by := neededBy.FindStringSubmatch(why); by != nil {
		return by[1]
	}
	return project
}

// audioopHint returns what to do where audioop is missing. A program that imports a
// package that needs it cannot use something else. Only Pyodide has a build of its
// successor, which not every server can fetch.
func audioopHint(traceback string, known imports.Finder) string {
	const gone = "audioop was removed from Python in 3.13: "
	const only = " the package audioop-lts, of which only Pyodide has a build: " + giveIt + ". Where the server cannot fetch that, "
	if module := importedBy(traceback); module != "" && module != "audioop" && module != "pyaudioop" {
		return gone + imports.Project(module, known).Name + " needs" + only + module + " cannot be used."
	}
	return gone + "it is in" + only + "use array and wave."
}

// imported matches the module that the last line of a traceback imports.
var imported = regexp.MustCompile(`^ +(?:import|from) (\w+)`)

// importedBy returns the module that the last line of a traceback imports, or "".
func importedBy(traceback string) string {
	_, line, _ := strings.Cut(strings.TrimPrefix(lastFrame(traceback), "\n"), "\n")
	if m := imported.FindStringSubmatch(line); m != nil {
		return m[1]
	}
	return ""
}

// advise adds to the error of packages that cannot be installed what the program
// could use instead, and, for whoever runs the server, what to set.
func (j *job) advise(ctx context.Context, e *runners.Error) {
	var use, ours []string
	lock := j.engine.lock
	unreachable := j.engine.resolver.BaseUnreachable() != ""
	for _, p := range e.Packages {
		if r, err := requirement.Parse(p.Name); err == nil && strings.Contains(p.Reason, resolver.NotFetched) {
			ours, unreachable = append(ours, r.Name), true
		}
	}
	for _, p := range e.Packages {
		r, err := requirement.Parse(p.Name)
		if err != nil {
			continue
		}
		name := wanting(r.Name, p.Reason)
		if module := importedBy(e.Traceback); module != "" {
			named := imports.Project(module, lock.ByImport).Name
			if instead[named] != "" && (name == r.Name || named != r.Name && instead[name] == "") {
				name = named // not what that wants
			}
		}
		other := instead[name]
		for unreachable && instead[other] != "" {
			if _, built := lock.ByName[other]; !built || j.engine.resolver.Indexed(ctx, other) {
				break
			}
			other = instead[other] // it cannot be installed either
		}
		if one := fmt.Sprintf("instead of %s, use %s", name, other); other != "" && !slices.Contains(use, one) {
			use = append(use, one)
		}
	}
	if len(use) > 0 {
		hint := strings.Join(use, "; ") + "."
		e.Hint = strings.ToUpper(hint[:1]) + hint[1:]
	}
	if len(ours) > 0 {
		e.Hint = strings.TrimSpace(fmt.Sprintf("%s\nFor whoever runs the server: PYODIDE_PACKAGE_BASE_URL can name another place with Pyodide's builds of %s.",
			e.Hint, strings.Join(ours, ", ")))
	}
}
