#!/usr/bin/env node
// Starts the program haft from the package of this platform, which npm chose among the optional dependencies. It downloads
// nothing and needs no install script.
"use strict";

const { spawn } = require("node:child_process");
const { constants } = require("node:os");
const { dirname, join } = require("node:path");

// The package for each processor.
const packages = { PACKAGES };

function fail(message, hint) {
  process.stderr.write(`error: ${message}\n\nhint: ${hint}\n`);
  process.exit(2);
}

function findProgram() {
  const name = process.platform === "linux" ? packages[process.arch] : undefined;
  if (name === undefined) {
    const known = Object.keys(packages).join(" and ");
    fail(`haft runs on Linux on ${known}, and this is ${process.platform} on ${process.arch}`, "use haft on such a machine");
  }
  try {
    return join(dirname(require.resolve(`${name}/package.json`)), "bin", "haft");
  } catch {
    return fail(
      `the package ${name} with the programs is not installed`,
      "install haft again without --omit=optional; haft needs glibc, so the package is left out on Alpine",
    );
  }
}

const program = findProgram();
const args = process.argv.slice(2);
if (typeof process.execve === "function") {
  // Newer Node becomes the program, so that no second process waits for it.
  process.execve(program, ["haft", ...args], process.env);
}
const child = spawn(program, args, { argv0: "haft", stdio: "inherit" });
for (const signal of ["SIGHUP", "SIGINT", "SIGTERM"]) {
  process.on(signal, () => child.kill(signal));
}
child.on("error", (err) => fail(`${program} does not start: ${err.message}`, "install haft again"));
child.on("exit", (status, signal) => {
  process.exitCode = signal === null ? status : 128 + constants.signals[signal];
});
