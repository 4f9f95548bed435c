# Installs coderunner {{.Version}} for this user, without an administrator:
#
#   irm {{.Latest}}/install.ps1 | iex
#
# $env:CODE_RUNNER_INSTALL_DIR is another directory, $env:CODE_RUNNER_DOWNLOADS a mirror
# of the archives, whose digests stand below.
& {
    $ErrorActionPreference = 'Stop'
    $ProgressPreference = 'SilentlyContinue'
    $dir = if ($env:CODE_RUNNER_INSTALL_DIR) { $env:CODE_RUNNER_INSTALL_DIR } else { Join-Path $env:LOCALAPPDATA 'Programs\coderunner' }
    $from = if ($env:CODE_RUNNER_DOWNLOADS) { $env:CODE_RUNNER_DOWNLOADS } else { '{{.Base}}' }
    $arch = if ($env:PROCESSOR_ARCHITEW6432) { $env:PROCESSOR_ARCHITEW6432 } else { $env:PROCESSOR_ARCHITECTURE }
    switch ($arch) {
{{- range .Downloads}}{{if eq .OS "windows"}}
        '{{if eq .Arch "amd64"}}AMD64{{else}}ARM64{{end}}' { $name = '{{.Name}}'; $want = '{{.SHA256}}' }
{{- end}}{{end}}
        default { throw "there is no build for Windows on $arch" }
    }
    $tmp = Join-Path ([IO.Path]::GetTempPath()) ([IO.Path]::GetRandomFileName())
    New-Item -ItemType Directory -Path $tmp | Out-Null
    try {
        $archive = Join-Path $tmp $name
        Invoke-WebRequest -UseBasicParsing -Uri "$from/$name" -OutFile $archive
        $got = (Get-FileHash -Algorithm SHA256 $archive).Hash.ToLower()
        if ($got -ne $want) { throw "$name has the SHA-256 $got, not $want; nothing is installed" }
        Expand-Archive -Path $archive -DestinationPath (Join-Path $tmp 'files')
        New-Item -ItemType Directory -Force -Path $dir | Out-Null
        Move-Item -Force (Join-Path $tmp 'files\coderunner.exe') (Join-Path $dir 'coderunner.exe')
    } finally {
        Remove-Item -Recurse -Force $tmp
    }
    $path = [Environment]::GetEnvironmentVariable('Path', 'User')
    if (($path -split ';') -notcontains $dir) {
        [Environment]::SetEnvironmentVariable('Path', (@($path, $dir) | Where-Object { $_ }) -join ';', 'User')
        $env:Path = "$env:Path;$dir"
    }
    Write-Output "Installed coderunner {{.Version}} as $dir\coderunner.exe"
    Write-Output 'Next:      coderunner config cursor --write (or another client)'
    Write-Output "Uninstall: coderunner cache clear; Remove-Item -Recurse '$dir'"
}
