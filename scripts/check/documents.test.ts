import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { createTempDir } from "@reprise/testkit";
import { expect, test } from "vitest";
import { findDocumentProblems } from "./documents.ts";

/** Apart, so that this file mentions no such page. */
const GONE = ["docs/gone", "md"].join(".");

const FILES: Readonly<Record<string, string>> = {
  "package.json": JSON.stringify({ scripts: { test: "" } }),
  "ARCHITECTURE.md": "[log](packages/log), [top](#top), [home](docs/README.md#all-pages)\n\n# Top\n",
  "docs/README.md": `# All pages\n\n[words](glossary.md), [none](none.md), [no heading](#none)\n\n\`[0](1)\`\n`,
  "docs/glossary.md":
    "| word | means | in the code |\n|---|---|---|\n| log | events | `Log.append`, `Log.drop` |\n",
  "docs/unlinked.md":
    "`npm run test`, `npm run fly`, `packages/log/src/log.ts`, `packages/log/src/none.ts`\n",
  "packages/log/README.md": "| folder | holds |\n|---|---|\n| `log.ts`, `none/` | `words` |\n",
  "packages/log/src/log.ts": `// ${GONE}, docs/unlinked.md\nexport class Log { append() {} }\n`,
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
    "docs/unlinked.md names the command npm run fly, which does not exist",
    "docs/unlinked.md names the file packages/log/src/none.ts, which does not exist",
    "packages/log/README.md lists none/, which does not exist",
    `packages/log/src/log.ts mentions ${GONE}, which does not exist`,
    "docs/README.md has no link to docs/unlinked.md",
    "ARCHITECTURE.md has no link to services/delivery",
    "docs/glossary.md names Log.drop, which no source has",
  ]);
});
