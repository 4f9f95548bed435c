class Coderunner < Formula
  desc "Sandbox for Python, TypeScript and bash programs, for MCP clients"
  homepage "{{.Homepage}}"
  version "{{.Version}}"
  license "MIT"
{{range $os := .Systems}}
  on_{{if eq $os "darwin"}}macos{{else}}linux{{end}} do
{{- range $.Downloads}}{{if eq .OS $os}}
    on_{{if eq .Arch "amd64"}}intel{{else}}arm{{end}} do
      url "{{.URL}}"
      sha256 "{{.SHA256}}"
    end
{{- end}}{{end}}
  end
{{end}}
  def install
    bin.install "coderunner"
    generate_completions_from_executable(bin/"coderunner", "completion")
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/coderunner --version")
  end
end
