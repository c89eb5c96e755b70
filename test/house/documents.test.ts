import { existsSync, globSync, readFileSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const read = (path: string) => readFileSync(join(ROOT, path), "utf8");

const PAGES = globSync("**/*.md", { cwd: ROOT, exclude: ["**/node_modules/**", "**/.*/**"] }).toSorted();
const README = read("README.md");

/** Links to files of the repository; code is left out, as `[0](…)` in it is none. */
function linksOf(markdown: string): { path: string; anchor: string | undefined }[] {
  const prose = markdown.replaceAll(/^```[\s\S]*?^```$/gm, "").replaceAll(/`[^`\n]*`/g, "");
  return [...prose.matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)/g)].map(([, path, anchor]) => ({
    path: path!,
    anchor,
  }));
}

/** What GitHub calls each heading of a page in links. */
function anchorsOf(markdown: string): Set<string> {
  const headings = [...markdown.replaceAll(/^```[\s\S]*?^```$/gm, "").matchAll(/^#+ (.+)$/gm)];
  return new Set(
    headings.map(([, heading]) =>
      heading!
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}\- _]/gu, "")
        .replaceAll(" ", "-"),
    ),
  );
}

function isDeadLink(from: string, { path, anchor }: { path: string; anchor: string | undefined }): boolean {
  const target = path === "" ? join(ROOT, from) : join(ROOT, dirname(from), path);
  if (!existsSync(target)) return true;
  if (anchor === undefined) return false;
  const page = statSync(target).isDirectory() ? join(target, "README.md") : target;
  return !anchorsOf(readFileSync(page, "utf8")).has(anchor);
}

describe("each document", () => {
  test.each(PAGES)("%s has links that lead somewhere", (page) => {
    const dead = linksOf(read(page)).filter((link) => isDeadLink(page, link));
    expect(dead).toEqual([]);
  });

  test.each(PAGES)("%s names npm commands that exist", (page) => {
    const { scripts } = JSON.parse(read("package.json")) as { scripts: Record<string, string> };
    const named = [...read(page).matchAll(/npm run ([\w:]+)/g)].map(([, name]) => name!);
    expect(named.filter((name) => !(name in scripts))).toEqual([]);
  });
});

test("source files and documents mention no page that does not exist", () => {
  const files = globSync("{*.{md,ts,cjs},{packages,services,test,scripts,docs}/**/*.{md,ts,mjs,cjs}}", {
    cwd: ROOT,
    exclude: ["**/node_modules/**"],
  });
  const isThere = (page: string) => PAGES.some((path) => path === page || basename(path) === page);
  const dead = files.flatMap((file) =>
    [...read(file).matchAll(/\b(?:docs\/[\w/-]+|[A-Z]{2,})\.md\b/g)]
      .filter(([page]) => !isThere(page))
      .map(([page]) => `${file}: ${page}`),
  );
  expect(dead).toEqual([]);
});

test("docs/README.md links to every page of docs", () => {
  const linked = new Set(linksOf(read("docs/README.md")).map(({ path }) => path));
  const pages = PAGES.filter((page) => dirname(page) === "docs").map((page) => basename(page));
  expect(pages.filter((page) => page !== "README.md" && !linked.has(page))).toEqual([]);
});

describe("README.md", () => {
  test("has at most 150 lines", () => {
    expect(README.split("\n").length - 1).toBeLessThanOrEqual(150);
  });

  test("names the Node.js that package.json installs", () => {
    const { devDependencies } = JSON.parse(read("package.json")) as { devDependencies: { node: string } };
    expect(README).toContain(`| a service by itself | Node.js ${devDependencies.node.replace("^", "")} |`);
  });
});

describe("ARCHITECTURE.md", () => {
  test("links to every package and service", () => {
    const linked = new Set(linksOf(read("ARCHITECTURE.md")).map(({ path }) => path));
    const folders = globSync("{packages,services}/*/", { cwd: ROOT }).map((folder) =>
      folder.replace(/\/$/, ""),
    );
    expect(folders.filter((folder) => !linked.has(folder))).toEqual([]);
  });
});
