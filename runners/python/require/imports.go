package require

import (
	"strings"

	"coderunner/runners/python/wheel"
)

// Finder maps modules to packages; a lock file's import map is one. "" means
// that it does not know.
type Finder func(module string) (project string)

// ForImport gives the project that a module is most likely in: by the finder,
// by the list of well-known aliases, or the one of the same name. It is ""
// for names that no project can have.
func ForImport(module string, known Finder) string {
	if project := known(module); project != "" {
		return project
	}
	for prefix := module; ; {
		if project, ok := aliases[prefix]; ok {
			return project
		}
		i := strings.LastIndexByte(prefix, '.')
		if i < 0 {
			break
		}
		prefix = prefix[:i]
	}
	parts := strings.Split(module, ".")
	depth := min(max(shared[parts[0]], 1), len(parts))
	name := strings.Join(parts[:depth], "-")
	if strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") != "" ||
		strings.HasPrefix(name, "_") || strings.HasSuffix(name, "_") || strings.HasSuffix(name, "-") {
		return ""
	}
	return wheel.Normalize(name)
}

// shared are the names that many projects share, and how many parts of a
// module's name make the project's.
var shared = map[string]int{
	"google": 2, "azure": 2, "backports": 2, "jaraco": 2, "opentelemetry": 2,
	"ruamel": 2, "sphinxcontrib": 2, "zope": 2, "zc": 2, "plone": 2,
}

// aliases are modules whose project has another name. What the lock file
// knows need not be here, but may: the lists overlap when the lock changes.
var aliases = map[string]string{
	"attr":             "attrs",
	"barcode":          "python-barcode",
	"bs4":              "beautifulsoup4",
	"box":              "python-box",
	"cairo":            "pycairo",
	"cgi":              "legacy-cgi",
	"community":        "python-louvain",
	"Crypto":           "pycryptodome",
	"Cryptodome":       "pycryptodomex",
	"cv2":              "opencv-python",
	"dateutil":         "python-dateutil",
	"decouple":         "python-decouple",
	"discord":          "discord-py",
	"dns":              "dnspython",
	"docx":             "python-docx",
	"dotenv":           "python-dotenv",
	"editor":           "python-editor",
	"faiss":            "faiss-cpu",
	"ffmpeg":           "ffmpeg-python",
	"fitz":             "pymupdf",
	"git":              "gitpython",
	"github":           "pygithub",
	"gitlab":           "python-gitlab",
	"google.auth":      "google-auth",
	"google.cloud":     "google-cloud-core",
	"google.oauth2":    "google-auth",
	"google.protobuf":  "protobuf",
	"googleapiclient":  "google-api-python-client",
	"hamcrest":         "pyhamcrest",
	"jose":             "python-jose",
	"jwt":              "pyjwt",
	"ldap":             "python-ldap",
	"Levenshtein":      "levenshtein",
	"magic":            "python-magic",
	"mpl_toolkits":     "matplotlib",
	"multipart":        "python-multipart",
	"MySQLdb":          "mysqlclient",
	"nacl":             "pynacl",
	"nmap":             "python-nmap",
	"OpenSSL":          "pyopenssl",
	"PIL":              "pillow",
	"pkg_resources":    "setuptools",
	"pptx":             "python-pptx",
	"psycopg2":         "psycopg2-binary",
	"pylab":            "matplotlib",
	"pythonjsonlogger": "python-json-logger",
	"pywt":             "pywavelets",
	"qdrant_client":    "qdrant-client",
	"rest_framework":   "djangorestframework",
	"serial":           "pyserial",
	"skimage":          "scikit-image",
	"sklearn":          "scikit-learn",
	"slugify":          "python-slugify",
	"snappy":           "python-snappy",
	"socketio":         "python-socketio",
	"stdnum":           "python-stdnum",
	"telegram":         "python-telegram-bot",
	"tlz":              "toolz",
	"umap":             "umap-learn",
	"usb":              "pyusb",
	"websocket":        "websocket-client",
	"wx":               "wxpython",
	"Xlib":             "python-xlib",
	"yaml":             "pyyaml",
	"zmq":              "pyzmq",
}
