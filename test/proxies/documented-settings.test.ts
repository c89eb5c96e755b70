import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "../..");
const PAGE = readFileSync(join(ROOT, "docs/operations/proxies.md"), "utf8");
const FOLDERS = { nginx: "nginx", Caddy: "caddy", HAProxy: "haproxy", Envoy: "envoy" };

/** The rows of the table that says of each proxy what to set, by the proxy's name. */
const ROWS = Object.fromEntries(
  PAGE.slice(PAGE.indexOf("| | buffering off | compression off |"))
    .split("\n\n", 1)[0]!
    .split("\n")
    .slice(2)
    .map((row) => row.split("|").slice(1, -1))
    .map(([name = "", ...cells]) => [name.trim(), cells.map((cell) => cell.trim())]),
);

/** Without comments, which name directives too. */
const textOf = (folder: string) =>
  globSync("**/*", { cwd: join(ROOT, "infra/proxies", folder), withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => readFileSync(join(parentPath, name), "utf8").replaceAll(/#.*/g, ""))
    .join("\n");

test("docs/operations/proxies.md says of each proxy what to set for buffering, compression, timeouts, HTTP/2 and stickiness", () => {
  expect(Object.keys(ROWS)).toEqual([...Object.keys(FOLDERS), "AWS ALB", "Cloudflare"]);
  for (const [name, cells] of Object.entries(ROWS))
    expect([name, cells.length, cells.filter((cell) => cell === "")]).toEqual([name, 6, []]);
});

test.each(Object.entries(FOLDERS))(
  "the files of %s have what the page says, and lack what it says is not there",
  (name, folder) => {
    const text = textOf(folder);
    for (const cell of ROWS[name]!) {
      const absent = [...cell.matchAll(/(?:no|without(?: the filter)?) `([^`]+)`/g)].map(([, word]) => word!);
      const present = [...cell.matchAll(/`([^`]+)`/g)]
        .map(([, word]) => word!)
        .filter((word) => !absent.includes(word));
      expect([cell, present.filter((setting) => !text.includes(setting))]).toEqual([cell, []]);
      expect([
        cell,
        absent.filter((word) => new RegExp(`(?:^|[\\s.])${word}\\b(?! off)`, "m").test(text)),
      ]).toEqual([cell, []]);
    }
  },
);
