import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { BOUNDARY_RULES, type Boundaries, cruiseBoundaries } from "../../scripts/check/cruise.ts";

const LIBRARIES = [
  "protocol",
  "projections",
  "archive",
  "broker",
  "moderation",
  "jobs",
  "stream",
  "blobs",
  "conversations",
  "facts",
  "runtime",
  "tenancy",
  "client",
  "conformance",
  "testkit",
];

/** One planted file per way to break a rule; `breaks` names the rules that must see it. */
const PLANTS: readonly { path: string; text: string; breaks: readonly string[] }[] = [
  { path: "packages/facts/src/reads.ts", text: `import "node:fs";`, breaks: ["facts-are-pure"] },
  { path: "packages/projections/src/reads.ts", text: `import "node:fs";`, breaks: ["projections-are-pure"] },
  { path: "packages/archive/src/up.ts", text: `import "@reprise/broker";`, breaks: ["layers-archive"] },
  { path: "packages/broker/src/up.ts", text: `import "@reprise/moderation";`, breaks: ["layers-broker"] },
  {
    path: "packages/moderation/src/verdicts/up.ts",
    text: `import "@reprise/stream";`,
    breaks: ["layers-moderation"],
  },
  { path: "packages/jobs/src/up.ts", text: `import "@reprise/stream";`, breaks: ["layers-jobs"] },
  { path: "packages/stream/src/up.ts", text: `import "@reprise/runtime";`, breaks: ["layers-stream"] },
  { path: "packages/blobs/src/up.ts", text: `import "@reprise/conversations";`, breaks: ["layers-blobs"] },
  {
    path: "packages/conversations/src/up.ts",
    text: `import "@reprise/tenancy";`,
    breaks: ["layers-conversations"],
  },
  { path: "packages/facts/src/lane/up.ts", text: `import "@reprise/runtime";`, breaks: ["layers-facts"] },
  { path: "packages/runtime/src/up.ts", text: `import "@reprise/tenancy";`, breaks: ["layers-runtime"] },
  { path: "packages/tenancy/src/up.ts", text: `import "@reprise/client";`, breaks: ["layers-tenancy"] },
  { path: "packages/protocol/src/reads.ts", text: `import "node:fs";`, breaks: ["protocol-is-pure"] },
  { path: "packages/protocol/src/logs.ts", text: `import "pino";`, breaks: ["protocol-is-pure"] },
  {
    path: "packages/protocol/src/up.ts",
    text: `import type {} from "@reprise/stream";`,
    breaks: ["protocol-is-pure"],
  },
  {
    path: "packages/moderation/src/rules/reads.ts",
    text: `import "node:fs";`,
    breaks: ["moderation-is-pure"],
  },
  {
    path: "packages/moderation/src/rules/up.ts",
    text: `import "@reprise/stream";`,
    breaks: ["moderation-is-pure"],
  },
  { path: "packages/client/src/reads.ts", text: `import "node:fs";`, breaks: ["client-is-portable"] },
  { path: "packages/client/src/up.ts", text: `import "@reprise/stream";`, breaks: ["client-is-portable"] },
  {
    path: "packages/conformance/src/shares.ts",
    text: `import "@reprise/protocol";`,
    breaks: ["conformance-shares-nothing"],
  },
  {
    path: "services/delivery/src/peer.ts",
    text: `import "@reprise/inference-worker-service";`,
    breaks: ["services-apart"],
  },
  {
    path: "packages/stream/src/over.ts",
    text: `import "@reprise/delivery-service";`,
    breaks: ["libraries-below-services"],
  },
  {
    path: "packages/tenancy/src/in.ts",
    text: `import "../../stream/src/inner.ts";`,
    breaks: ["through-the-door"],
  },
  {
    path: "services/delivery/src/core.test.ts",
    text: `import type {} from "./extensions/blobs/own.ts";`,
    breaks: ["extensions-can-be-deleted"],
  },
  {
    path: "services/delivery/src/extensions/conversations/peer.ts",
    text: `import "../blobs/own.ts";`,
    breaks: ["extensions-apart"],
  },
  {
    path: "services/delivery/src/kit.ts",
    text: `import "@reprise/testkit";`,
    breaks: ["testkit-is-for-tests"],
  },
  {
    path: "services/delivery/src/readers/streams/traced.ts",
    text: `import "../../../../../packages/runtime/src/telemetry/tracing/sdk.ts";`,
    breaks: ["tokens-untraced"],
  },
  {
    path: "services/inference-worker/src/engines/traced.ts",
    text: `import type {} from "../../../../packages/runtime/src/telemetry/tracing/sdk.ts";`,
    breaks: ["tokens-untraced"],
  },
  { path: "packages/stream/src/traced.ts", text: `import "@reprise/runtime";`, breaks: ["layers-stream"] },
  {
    path: "packages/runtime/src/telemetry/tracing/sdk.ts",
    text: `import "@opentelemetry/api";`,
    breaks: ["opentelemetry-in-one-folder"],
  },
  { path: "services/delivery/src/fake.ts", text: `import "./a.fixture.ts";`, breaks: ["tests-stay-out"] },
  { path: "services/delivery/src/dev.ts", text: `import "vitest";`, breaks: ["declared-dependencies"] },
  { path: "services/delivery/src/other.ts", text: `import "pino";`, breaks: ["declared-dependencies"] },
  { path: "services/delivery/src/gone.ts", text: `import "./gone-for-good.ts";`, breaks: ["resolvable"] },
  { path: "packages/stream/src/a.ts", text: `import type {} from "./b.ts";`, breaks: ["no-circular"] },
];

const ALLOWED: Readonly<Record<string, string>> = {
  "packages/protocol/src/parse.ts": `import "zod";`,
  "packages/protocol/src/parse.test.ts": `import "vitest"; import "node:fs";`,
  "packages/stream/src/b.ts": `import "./a.ts"; import "@reprise/protocol";`,
  "packages/stream/src/inner.ts": "export {};",
  "packages/stream/src/inner.test.ts": `import "@reprise/testkit"; import "vitest";`,
  "packages/moderation/src/rules/down.ts": `import "@reprise/protocol";`,
  "packages/client/src/down.ts": `import "@reprise/protocol";`,
  "packages/conformance/src/apart.ts": `import "node:http";`,
  "services/delivery/src/a.fixture.ts": "export {};",
  "services/delivery/src/down.ts": `import "@reprise/stream"; import "node:http";`,
  "services/delivery/src/extensions.ts": `import "./extensions/blobs/all.ts";`,
  "services/delivery/src/extensions/blobs/all.ts": `import "./own.ts"; import "../../down.ts";`,
  "services/delivery/src/extensions/blobs/own.ts": "export {};",
  // Folders of a circle, whose files are in none.
  "services/delivery/src/circle/begin.ts": `import "../way/through.ts";`,
  "services/delivery/src/circle/end.ts": "export {};",
  "services/delivery/src/way/through.ts": `import type {} from "../way.ts";`,
  "services/delivery/src/way.ts": `import "./circle/end.ts";`,
  "services/delivery/src/test-circle/begin.ts": `import "../tested/end.ts";`,
  "services/delivery/src/tested/end.ts": "export {};",
  "services/delivery/src/tested/end.test.ts": `import "../test-circle/begin.ts"; import "vitest";`,
  "services/standalone/src/compose.ts": `import "@reprise/delivery-service"; import "@reprise/inference-worker-service";`,
};

let found: Boundaries;

beforeAll(async () => {
  const root = await mkdtemp(join(tmpdir(), "reprise-boundaries-"));
  const write = async (path: string, text: string) => {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), text);
  };
  const installed = async (name: string) => {
    await write(`node_modules/${name}/package.json`, JSON.stringify({ name, main: "index.js" }));
    await write(`node_modules/${name}/index.js`, "");
  };
  const workspace = async (folder: string, door: string, dependencies: Record<string, string>) => {
    const [kind, own] = folder.split("/");
    const name = `@reprise/${own}${kind === "services" ? "-service" : ""}`;
    await write(
      `${folder}/package.json`,
      JSON.stringify({ name, type: "module", exports: { ".": door }, dependencies }),
    );
    await write(join(folder, door), "export {};");
    await mkdir(join(root, "node_modules/@reprise"), { recursive: true });
    await symlink(join(root, folder), join(root, "node_modules", name));
  };

  await write("package.json", JSON.stringify({ name: "planted", devDependencies: { vitest: "*" } }));
  await Promise.all(["zod", "pino", "vitest", "@opentelemetry/api"].map(installed));
  const own = { zod: "*", ...Object.fromEntries(LIBRARIES.map((library) => [`@reprise/${library}`, "*"])) };
  for (const library of LIBRARIES) await workspace(`packages/${library}`, "./src/index.ts", own);
  for (const service of ["delivery", "inference-worker", "standalone"])
    await workspace(`services/${service}`, "./src/service.ts", own);
  for (const [path, text] of Object.entries(ALLOWED)) await write(path, text);
  for (const { path, text } of PLANTS) await write(path, text);

  found = await cruiseBoundaries(root, ["packages", "services"]);
  await rm(root, { recursive: true });
});

test("an import that breaks a rule is reported", () => {
  const unreported = PLANTS.filter(
    ({ path, breaks }) =>
      !breaks.every((rule) => found.violations.some((one) => one.from === path && one.rule === rule)),
  );
  expect(unreported).toEqual([]);
});

test("folders and files of one src that import each other in a circle are reported, imports of tests are not", () => {
  const src = "services/delivery/src/";
  const files = ["packages/stream/src/a.ts", "packages/stream/src/b.ts"] as const;
  expect(found.circles).toEqual([
    {
      entries: files,
      imports: [
        { from: files[0], to: files[1] },
        { from: files[1], to: files[0] },
      ],
    },
    {
      entries: ["circle", "way", "way.ts"].map((entry) => src + entry),
      imports: [
        { from: `${src}circle/begin.ts`, to: `${src}way/through.ts` },
        { from: `${src}way/through.ts`, to: `${src}way.ts` },
        { from: `${src}way.ts`, to: `${src}circle/end.ts` },
      ],
    },
  ]);
});

test("every rule has a planted violation", () => {
  expect(new Set(PLANTS.flatMap(({ breaks }) => breaks))).toEqual(new Set(BOUNDARY_RULES));
});

test("an import that breaks none is not reported, and every file is read", () => {
  // `no-circular` reports a cycle at whichever of its files it comes to first.
  const wrong = found.violations.filter(({ from, rule }) => from in ALLOWED && rule !== "no-circular");
  expect(wrong).toEqual([]);
  expect(found.modules).toBe(PLANTS.length + Object.keys(ALLOWED).length + LIBRARIES.length + 3);
});
