import { existsSync, readFileSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";

/** A path from the root of the repository, in backticks. */
const NAMED = /`((?:\.ci|docs|packages|scripts|services|test)\/[\w./-]*)`/g;
const MENTIONED_PAGE = /\b(?:docs\/[\w/-]+|[A-Z]{2,})\.md\b/g;

/**
 * Lists what is wrong with the documents of a repository: links, paths, commands and names that lead nowhere; pages, packages and
 * services that no index has; and folders of a `src` that the table of its README does not have.
 * @param tracked paths from the root
 */
export function findDocumentProblems(root: string, tracked: readonly string[]): string[] {
  const read = (path: string) => readFileSync(join(root, path), "utf8");
  const pages = tracked.filter((path) => path.endsWith(".md"));
  const sources = tracked.filter((path) => /\.(ts|mjs|cjs)$/.test(path));
  const { scripts } = JSON.parse(read("package.json")) as { scripts: Record<string, string> };
  const isPage = (name: string) => pages.some((path) => path === name || basename(path) === name);

  const inPages = pages.flatMap((page) => {
    const text = read(page);
    return [
      ...linksOf(text)
        .filter((link) => !leadsSomewhere(root, page, link))
        .map(({ path, anchor }) => `links to ${path}${anchor === undefined ? "" : `#${anchor}`}`),
      ...matchesOf(text, /npm run ([\w:]+)/g)
        .filter((name) => !(name in scripts))
        .map((name) => `names the command npm run ${name}`),
      ...matchesOf(text, NAMED)
        .filter((path) => !existsSync(join(root, path)))
        .map((path) => `names the file ${path}`),
      ...namesOfFolders(text)
        .filter((name) => !existsSync(join(root, dirname(page), name)))
        .filter((name) => !existsSync(join(root, dirname(page), "src", name)))
        .map((name) => `lists ${name}`),
    ].map((problem) => `${page} ${problem}, which does not exist`);
  });

  const ofPages = [...pages, ...sources].flatMap((path) =>
    [...read(path).matchAll(MENTIONED_PAGE)]
      .filter(([name]) => !isPage(name))
      .map(([name]) => `${path} mentions ${name}, which does not exist`),
  );

  const missing = (index: string, entries: readonly string[]) => {
    const linked = new Set(linksOf(read(index)).map(({ path }) => join(dirname(index), path)));
    return entries.filter((path) => !linked.has(path)).map((path) => `${index} has no link to ${path}`);
  };
  const unlisted = pages.flatMap((page) => {
    const [, workspace] = /^((?:packages|services)\/[^/]+)\/README\.md$/.exec(page) ?? [];
    if (workspace === undefined) return [];
    const listed = namesOfFolders(read(page)).map((name) => name.replace(/^src\//, "").split("/")[0]);
    const inSource = tracked.filter((path) => path.startsWith(`${workspace}/src/`));
    const existing = new Set(inSource.flatMap((path) => /^(?:[^/]+\/){3}([^/]+)\//.exec(path)?.[1] ?? []));
    return [...existing]
      .filter((name) => !listed.includes(name))
      .map((name) => `${page} does not list ${name}/`);
  });
  const guides = pages.filter((page) => dirname(page) === "docs" && page !== "docs/README.md");
  const folders = tracked.flatMap((path) => /^(packages|services)\/[^/]+(?=\/)/.exec(path)?.[0] ?? []);

  return [
    ...inPages,
    ...ofPages,
    ...unlisted,
    ...missing("docs/README.md", guides),
    ...missing("ARCHITECTURE.md", [...new Set(folders)]),
    ...findUnknownWords(read("docs/glossary.md"), sources.map(read)),
  ];
}

interface Link {
  readonly path: string;
  readonly anchor: string | undefined;
}

/** Links to files of the repository; code is left out. */
function linksOf(markdown: string): Link[] {
  const prose = withoutBlocks(markdown).replaceAll(/`[^`\n]*`/g, "");
  return [...prose.matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)/g)].map(([, path, anchor]) => ({
    path: path!,
    anchor,
  }));
}

function leadsSomewhere(root: string, page: string, { path, anchor }: Link): boolean {
  const target = path === "" ? join(root, page) : join(root, dirname(page), path);
  if (!existsSync(target)) return false;
  if (anchor === undefined) return true;
  const file = statSync(target).isDirectory() ? join(target, "README.md") : target;
  return anchorsOf(readFileSync(file, "utf8")).has(anchor);
}

/** GitHub's link names of a page's headings. */
function anchorsOf(markdown: string): Set<string> {
  return new Set(
    matchesOf(withoutBlocks(markdown), /^#+ (.+)$/gm).map((heading) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}\- _]/gu, "")
        .replaceAll(" ", "-"),
    ),
  );
}

/** The names in the first column of tables that begin with `| folder |`. */
function namesOfFolders(markdown: string): string[] {
  const tables = markdown.match(/^\| folder \|.*\n(?:\|.*\n?)*/gm) ?? [];
  const rows = tables.flatMap((table) => table.trimEnd().split("\n").slice(2));
  return rows.flatMap((row) => matchesOf(row.split("|")[1]!, /`([^`]+)`/g));
}

/** The last column of the glossary says what the code calls a word. */
function findUnknownWords(glossary: string, sources: readonly string[]): string[] {
  const words = new Set(sources.flatMap((text) => text.match(/\w+/g) ?? []));
  const columns = glossary.split("\n").map((line) => line.split(" | ")[2] ?? "");
  return columns
    .flatMap((column) => matchesOf(column, /`([^`]+)`/g))
    .filter((name) => name.split(".").some((part) => !words.has(part)))
    .map((name) => `docs/glossary.md names ${name}, which no source has`);
}

function withoutBlocks(markdown: string): string {
  return markdown.replaceAll(/^```[\s\S]*?^```$/gm, "");
}

function matchesOf(text: string, pattern: RegExp): string[] {
  return [...text.matchAll(pattern)].map(([, first]) => first!);
}
