#!/usr/bin/env node
// Starts the binary, which is in the package of this platform.
"use strict";
const { spawn } = require("node:child_process");
const { version, optionalDependencies } = require("./package.json");

const name = `{{.NPM}}-${process.platform}-${process.arch}`;
let binary;
try {
  binary = require.resolve(`${name}/coderunner${process.platform === "win32" ? ".exe" : ""}`);
} catch {
  console.error(name in optionalDependencies
    ? `coderunner: the package ${name} is missing; optional dependencies were left out, or installed for another platform. hint: npm install ${name}@${version}`
    : `coderunner: there is no build for ${process.platform} on ${process.arch}`);
  process.exit(1);
}
const child = spawn(binary, process.argv.slice(2), { stdio: "inherit", windowsHide: true });
child.on("error", (error) => {
  console.error(`coderunner: cannot start ${binary}: ${error.message}`);
  process.exit(1);
});
// ^C at a terminal reaches the binary by itself; a second one would end it at once.
const typed = require("node:tty").isatty(0);
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => signal === "SIGINT" && typed || child.kill(signal));
}
child.on("exit", (code, signal) => {
  if (signal === null) process.exit(code);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
