// Fails on a tracked file that names a package registry or is too long, and a document that leads nowhere.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { findDocumentProblems } from "./documents.ts";
import { findProblems } from "./tracked-files.ts";

const configured = process.env["npm_config_registry"];
const registries = configured === undefined ? [] : [new URL(configured).hostname];

const tracked = execFileSync("git", ["ls-files", "-z"], { encoding: "utf8" }).split("\0").filter(existsSync);
const problems = [
  ...tracked.flatMap((path) => findProblems(path, readFileSync(path, "utf8"), registries)),
  ...findDocumentProblems(".", tracked),
];

for (const problem of problems) console.error(problem);
if (problems.length > 0) process.exitCode = 1;
