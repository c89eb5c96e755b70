import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { createTempDir } from "@reprise/testkit";
import { expect, test } from "vitest";
import { findDocumentProblems } from "./documents.ts";

/** Put together, so that this file mentions no such page. */
const page = (name: string) => `docs/${name}.md`;
const GONE = page("gone");
const UNLINKED = page("unlinked");

const FILES: Readonly<Record<string, string>> = {
  "package.json": JSON.stringify({ scripts: { test: "" } }),
  "ARCHITECTURE.md": "[log](packages/stream), [top](#top), [home](docs/README.md#all-pages)\n\n# Top\n",
  "docs/README.md": `# All pages\n\n[words](glossary.md), [none](none.md), [no heading](#none)\n\n\`[0](1)\`\n`,
  "docs/glossary.md":
    "| word | means | in the code |\n|---|---|---|\n| log | events | `Log.append`, `Log.drop` |\n",
  [UNLINKED]: "`npm run test`, `npm run fly`, `packages/stream/src/log.ts`, `packages/stream/src/none.ts`\n",
  "packages/stream/README.md": "| folder | holds |\n|---|---|\n| `log.ts`, `none/` | `words` |\n",
  "packages/stream/src/log.ts": `// ${GONE}, ${UNLINKED}\nexport class Log { append() {} }\n`,
  "packages/stream/src/read/log.ts": "",
  "packages/stream/src/read/cache/cache.ts": "",
  "services/delivery/package.json": "{}",
};

test("each link, path, command and name that leads nowhere is reported, and each page that no index has", async () => {
  await using dir = await createTempDir("documents");
  for (const [path, text] of Object.entries(FILES)) {
    await mkdir(join(dir.path, dirname(path)), { recursive: true });
    await writeFile(join(dir.path, path), text);
  }
  expect(findDocumentProblems(dir.path, Object.keys(FILES))).toEqual([
    "docs/README.md links to none.md, which does not exist",
    "docs/README.md links to #none, which does not exist",
    `${UNLINKED} names the command npm run fly, which does not exist`,
    `${UNLINKED} names the file packages/stream/src/none.ts, which does not exist`,
    "packages/stream/README.md lists none/, which does not exist",
    `packages/stream/src/log.ts mentions ${GONE}, which does not exist`,
    "packages/stream/README.md does not list read/",
    `docs/README.md has no link to ${UNLINKED}`,
    "ARCHITECTURE.md has no link to services/delivery",
    "docs/glossary.md names Log.drop, which no source has",
  ]);
});
