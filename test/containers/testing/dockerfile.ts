import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./compose-file.ts";

/** Reads the variables that `ENV` of the stage `service`, which all images are made from, sets. */
export function readDockerfileEnvironment(): Record<string, string> {
  const text = readFileSync(join(ROOT, "Dockerfile"), "utf8").replaceAll("\\\n", " ");
  const stage = text.split(/^FROM /m).find((part) => part.startsWith("scratch AS service\n")) ?? "";
  const pairs = [...stage.matchAll(/^ENV (.*)$/gm)].flatMap(([, line = ""]) => line.trim().split(/ +/));
  return Object.fromEntries(
    pairs.map((pair) => [pair.slice(0, pair.indexOf("=")), pair.slice(pair.indexOf("=") + 1)]),
  );
}
