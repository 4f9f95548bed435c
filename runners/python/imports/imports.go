// Package imports maps the modules that programs import to the projects that
// have them.
//
// It asks nobody: whether a project exists is for package resolver to find out.
package imports

import (
	"regexp"
	"strings"

	"coderunner/runners/python/requirement"
	"coderunner/runners/python/wheel"
)

// Finder maps modules to packages; a lock file's import map is one. "" means
// that it does not know.
type Finder func(module string) (project string)

// Project returns a requirement of the project that a module is most likely
// in: by the finder, by the list of well-known aliases, or the project of the
// same name. Its name is "" for modules whose names no project can have.
func Project(module string, known Finder) requirement.Requirement {
	parts := strings.Split(module, ".")
	if project := known(module); project != "" {
		// Of a name that many projects share it knows one project's.
		if _, many := shared[parts[0]]; !many || len(parts) == 1 || project != known(parts[0]) {
			return requirement.Requirement{Name: project}
		}
	}
	for i := len(parts); i > 0; i-- {
		if alias, ok := aliases[strings.Join(parts[:i], ".")]; ok {
			name, newer, bounded := strings.Cut(alias, "<")
			if bounded {
				return requirement.Requirement{Name: name, Specifier: "<" + newer}
			}
			return requirement.Requirement{Name: name}
		}
	}
	name := strings.Join(parts[:min(depth(parts), len(parts))], "-")
	if strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") != "" ||
		strings.HasPrefix(name, "_") || strings.HasSuffix(name, "_") || strings.HasSuffix(name, "-") {
		return requirement.Requirement{}
	}
	return requirement.Requirement{Name: wheel.Normalize(name)}
}

// depth returns how many parts of a module's name make its project's.
func depth(parts []string) int {
	for i := len(parts); i > 0; i-- {
		if n := shared[strings.Join(parts[:i], ".")]; n > 0 {
			return n
		}
	}
	return 1
}

// Deeper returns the modules that a program imports from one that is nothing but
// a name that many projects share: for "google.cloud" and the line "from
// google.cloud import storage", "google.cloud.storage". For others it returns
// the module itself.
func Deeper(module, code string) []string {
	parts := strings.Split(module, ".")
	if len(parts) >= depth(parts) || aliases[module] != "" {
		return []string{module}
	}
	var modules []string
	lines := regexp.MustCompile(`(?m)^[ \t]*from[ \t]+` + regexp.QuoteMeta(module) + `[ \t]+import[ \t]*(?:\(([^)]*)\)|([^\r\n#]*))`)
	for _, m := range lines.FindAllStringSubmatch(code, -1) {
		for name := range strings.SplitSeq(m[1]+m[2], ",") {
			if words := strings.Fields(name); len(words) > 0 && words[0] != "*" {
				modules = append(modules, module+"."+words[0])
			}
		}
	}
	if modules == nil {
		return []string{module}
	}
	return modules
}

// Gone returns what became of a module that was part of Python and has no
// successor of its name, or "".
func Gone(module string) string {
	top, _, _ := strings.Cut(module, ".")
	return gone[top]
}

// shared are the names that many projects share, and how many parts of a
// module's name make the project's.
var shared = map[string]int{
	"google": 2, "google.ai": 3, "google.cloud": 3,
	"azure": 2, "azure.ai": 3, "azure.communication": 3, "azure.data": 3, "azure.iot": 3, "azure.keyvault": 3,
	"azure.mgmt": 3, "azure.monitor": 3, "azure.search": 3, "azure.storage": 3,
	"backports": 2, "jaraco": 2, "opentelemetry": 2, "ruamel": 2, "sphinxcontrib": 2, "zope": 2, "zc": 2, "plone": 2,
}

// gone are modules that were part of Python. Of their names there are no
// projects, and of those that have another name the aliases know.
var gone = map[string]string{
	"binhex":    "it was removed from Python in 3.11; use binascii or base64",
	"crypt":     "it was removed from Python in 3.13; use hashlib, or the package legacycrypt",
	"distutils": "it was removed from Python in 3.12; use sysconfig, shutil, or packaging.version of the package packaging. The package setuptools has it as setuptools._distutils",
	"formatter": "it was removed from Python in 3.10",
	"imp":       "it was removed from Python in 3.12; use importlib",
	"lib2to3":   "it was removed from Python in 3.13; use ast, or the packages libcst or parso",
	"mailcap":   "it was removed from Python in 3.13",
	"nis":       "it was removed from Python in 3.13",
	"parser":    "it was removed from Python in 3.10; use ast",
	"smtpd":     "it was removed from Python in 3.12; the package aiosmtpd is its successor",
	"spwd":      "it was removed from Python in 3.13",
	"symbol":    "it was removed from Python in 3.10; use ast",
}

// aliases are modules whose project has another name, or only old versions
// have ("project<version"). What the lock file knows need not be here, but
// may: the lists overlap when the lock changes.
var aliases = map[string]string{
	"absl":                    "absl-py",
	"ahocorasick":             "pyahocorasick",
	"aifc":                    "standard-aifc",
	"antlr4":                  "antlr4-python3-runtime",
	"argon2":                  "argon2-cffi",
	"asynchat":                "pyasynchat",
	"asyncore":                "pyasyncore",
	"attr":                    "attrs",
	"audioop":                 "audioop-lts",
	"barcode":                 "python-barcode",
	"binance":                 "python-binance",
	"bluetooth":               "pybluez",
	"box":                     "python-box",
	"bs4":                     "beautifulsoup4",
	"bson":                    "pymongo",
	"cairo":                   "pycairo",
	"camelot":                 "camelot-py",
	"can":                     "python-can",
	"cassandra":               "cassandra-driver",
	"cgi":                     "legacy-cgi",
	"cgitb":                   "legacy-cgi",
	"chunk":                   "standard-chunk",
	"community":               "python-louvain",
	"constraint":              "python-constraint",
	"cpuinfo":                 "py-cpuinfo",
	"Crypto":                  "pycryptodome",
	"Cryptodome":              "pycryptodomex",
	"cv2":                     "opencv-python",
	"dateutil":                "python-dateutil",
	"decouple":                "python-decouple",
	"discord":                 "discord-py",
	"dns":                     "dnspython",
	"docx":                    "python-docx",
	"dotenv":                  "python-dotenv",
	"editor":                  "python-editor",
	"enchant":                 "pyenchant",
	"environ":                 "django-environ",
	"faiss":                   "faiss-cpu",
	"ffmpeg":                  "ffmpeg-python",
	"fitz":                    "pymupdf",
	"flint":                   "python-flint",
	"fpdf":                    "fpdf2",
	"frontmatter":             "python-frontmatter",
	"gi":                      "pygobject",
	"git":                     "gitpython",
	"github":                  "pygithub",
	"gitlab":                  "python-gitlab",
	"gnupg":                   "python-gnupg",
	"google.auth":             "google-auth",
	"google.oauth2":           "google-auth",
	"google.protobuf":         "protobuf",
	"googleapiclient":         "google-api-python-client",
	"googlesearch":            "googlesearch-python",
	"graphql":                 "graphql-core",
	"gridfs":                  "pymongo",
	"hamcrest":                "pyhamcrest",
	"hcl2":                    "python-hcl2",
	"imblearn":                "imbalanced-learn",
	"imghdr":                  "standard-imghdr",
	"jenkins":                 "python-jenkins",
	"jose":                    "python-jose",
	"jwt":                     "pyjwt",
	"kafka":                   "kafka-python",
	"ldap":                    "python-ldap",
	"Levenshtein":             "levenshtein",
	"linkify_it":              "linkify-it-py",
	"lzo":                     "python-lzo",
	"magic":                   "python-magic",
	"markdown_it":             "markdown-it-py",
	"MeCab":                   "mecab-python3",
	"memcache":                "python-memcached",
	"moneyed":                 "py-moneyed",
	"mpl_toolkits":            "matplotlib",
	"multipart":               "python-multipart",
	"mysql":                   "mysql-connector-python",
	"MySQLdb":                 "mysqlclient",
	"nacl":                    "pynacl",
	"nats":                    "nats-py",
	"newspaper":               "newspaper3k",
	"nmap":                    "python-nmap",
	"nntplib":                 "standard-nntplib",
	"odf":                     "odfpy",
	"OpenGL":                  "pyopengl",
	"opensearchpy":            "opensearch-py",
	"OpenSSL":                 "pyopenssl",
	"opentelemetry.baggage":   "opentelemetry-api",
	"opentelemetry.context":   "opentelemetry-api",
	"opentelemetry.metrics":   "opentelemetry-api",
	"opentelemetry.propagate": "opentelemetry-api",
	"opentelemetry.trace":     "opentelemetry-api",
	"osgeo":                   "gdal",
	"paho":                    "paho-mqtt",
	"pdfminer":                "pdfminer-six",
	"PIL":                     "pillow",
	"pipes":                   "standard-pipes",
	"pkg_resources":           "setuptools<82",
	"playhouse":               "peewee",
	"pptx":                    "python-pptx",
	"psycopg2":                "psycopg2-binary",
	"pylab":                   "matplotlib",
	"pythoncom":               "pywin32",
	"pythonjsonlogger":        "python-json-logger",
	"pywt":                    "pywavelets",
	"pyximport":               "cython",
	"qdrant_client":           "qdrant-client",
	"rapidjson":               "python-rapidjson",
	"readability":             "readability-lxml",
	"rest_framework":          "djangorestframework",
	"RPi":                     "rpi-gpio",
	"serial":                  "pyserial",
	"skbio":                   "scikit-bio",
	"skfuzzy":                 "scikit-fuzzy",
	"skimage":                 "scikit-image",
	"sklearn":                 "scikit-learn",
	"skopt":                   "scikit-optimize",
	"sksurv":                  "scikit-survival",
	"slugify":                 "python-slugify",
	"snappy":                  "python-snappy",
	"sndhdr":                  "standard-sndhdr",
	"socketio":                "python-socketio",
	"speech_recognition":      "speechrecognition",
	"statemachine":            "python-statemachine",
	"stdnum":                  "python-stdnum",
	"suds":                    "suds-community",
	"sunau":                   "standard-sunau",
	"surprise":                "scikit-surprise",
	"svg":                     "svg-py",
	"swisseph":                "pyswisseph",
	"tabula":                  "tabula-py",
	"talib":                   "ta-lib",
	"telebot":                 "pytelegrambotapi",
	"telegram":                "python-telegram-bot",
	"telnetlib":               "standard-telnetlib",
	"tlz":                     "toolz",
	"tortoise":                "tortoise-orm",
	"uc_micro":                "uc-micro-py",
	"umap":                    "umap-learn",
	"usb":                     "pyusb",
	"uu":                      "standard-uu",
	"vlc":                     "python-vlc",
	"websocket":               "websocket-client",
	"whois":                   "python-whois",
	"wikipediaapi":            "wikipedia-api",
	"win32api":                "pywin32",
	"win32com":                "pywin32",
	"wx":                      "wxpython",
	"xdrlib":                  "standard-xdrlib",
	"Xlib":                    "python-xlib",
	"yaml":                    "pyyaml",
	"z3":                      "z3-solver",
	"zmq":                     "pyzmq",
}
