package imports_test

import (
	"strings"
	"testing"

	"coderunner/runners/python/imports"
)

func TestProject(t *testing.T) {
	lock := func(module string) string {
		return map[string]string{"yaml": "pyyaml", "google.genai": "from-lock", "ruamel": "ruamel-yaml", "azure": "azure-one", "azure.two": "azure-one"}[module]
	}
	for module, want := range map[string]string{
		"yaml": "pyyaml", "dotenv.main": "python-dotenv", "six": "six", "typing_extensions": "typing-extensions",
		"google.genai": "from-lock", "google.protobuf.json": "protobuf", "google.adk.agents": "google-adk",
		"ruamel.yaml": "ruamel-yaml", "azure": "azure-one", "azure.two": "azure-two",
		"google.cloud.storage.blob": "google-cloud-storage", "azure.identity.aio": "azure-identity", "azure.storage.blob": "azure-storage-blob",
		"opentelemetry.trace": "opentelemetry-api", "opentelemetry.sdk.trace": "opentelemetry-sdk", "pkg_resources": "setuptools<82",
		"google.cloud.pubsub_v1.types": "google-cloud-pubsub", "google.analytics.data_v1beta": "google-analytics-data", "google.cloud.secretmanager_v1": "google-cloud-secret-manager",
		"azure.cognitiveservices.vision.face": "azure-cognitiveservices-vision-face", "azure.cognitiveservices.speech": "azure-cognitiveservices-speech",
		"opentelemetry.exporter.otlp.proto.http.trace_exporter": "opentelemetry-exporter-otlp-proto-http", "opentelemetry.instrumentation.flask": "opentelemetry-instrumentation-flask",
		"spellchecker": "pyspellchecker", "ninja": "django-ninja", "win32file": "pywin32", "some_v2": "some-v2",
		"markdown_it": "markdown-it-py", "_private": "", "größe": "", "os_": "",
	} {
		if got := imports.Project(module, lock).String(); got != want {
			t.Errorf("Project(%q) = %q, want %q", module, got, want)
		}
	}
}

func TestDeeper(t *testing.T) {
	code := "from google.cloud import storage as s, bigquery # x\nif x:\n  from google.cloud import (vision,\n    ndb,)\nfrom google import genai\nfrom azure.storage.blob import x\nfrom zope import *\n"
	for module, want := range map[string]string{
		"google.cloud": "google.cloud.storage google.cloud.bigquery google.cloud.vision google.cloud.ndb", "google": "google.genai",
		"azure.storage.blob": "azure.storage.blob", "zope": "zope", "six": "six", "google.protobuf": "google.protobuf",
	} {
		if got := strings.Join(imports.Deeper(module, code), " "); got != want {
			t.Errorf("Deeper(%q) = %q, want %q", module, got, want)
		}
	}
}

func TestOwn(t *testing.T) {
	for module, want := range map[string]bool{"utils": true, "config.dev": true, "utilities": false, "six": false, "six.utils": false} {
		if imports.Own(module) != want {
			t.Errorf("Own(%q) is %t", module, !want)
		}
	}
}
