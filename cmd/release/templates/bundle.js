// Starts the launcher with what the user has configured: --allow-… and then its values.
"use strict";
const { chmodSync } = require("node:fs");
const { join } = require("node:path");

const permissions = {};
let flag;
for (const arg of process.argv.splice(2)) {
  if (arg.startsWith("--allow-")) permissions[(flag = arg)] = [];
  else if (arg.startsWith("${") || arg.trim() === "") continue; // not configured
  else if (flag === "--allow-net") permissions[flag].push(...arg.split(/[\s,]+/).filter(Boolean));
  else permissions[flag].push(arg);
}
for (const [name, list] of Object.entries(permissions)) {
  if (list.length > 0) process.argv.push(`${name}=${list.join(",")}`);
}
if (process.platform !== "win32") { // an archive may have lost the mode
  try {
    chmodSync(join(__dirname, `node_modules/{{.NPM}}-${process.platform}-${process.arch}/coderunner`), 0o755);
  } catch {} // it has it already, or the launcher says what is missing
}
require("./coderunner.js");
