import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { rolldown } from "rolldown";
import * as aiSdk from "../../packages/ai-sdk/src/bundle-size.fixture.ts";
import * as client from "../../packages/client/src/bundle-size.fixture.ts";
import type { Outcome } from "./step.ts";

/** What an app loads of a package, and at most how much of it, where the package's own test has it. */
const LIMITS: Readonly<Record<string, SizeLimit>> = {
  "@reprise/ai-sdk": {
    app: aiSdk.wholeApp,
    maxBytes: aiSdk.MAX_BYTES,
    maxGzipBytes: aiSdk.MAX_GZIP_BYTES,
    imported: aiSdk.IMPORTED,
  },
  "@reprise/client": {
    app: client.streamingApp,
    maxBytes: client.MAX_BYTES,
    maxGzipBytes: client.MAX_GZIP_BYTES,
    imported: [],
  },
};

interface SizeLimit {
  /** The program that is measured, of the module at a path. */
  readonly app: (module: string) => string;
  readonly maxBytes: number;
  readonly maxGzipBytes: number;
  /** Packages that it imports; they are not measured. */
  readonly imported: readonly string[];
}

/** As README.md says it: `21 KB minified, 8.0 KB compressed`. */
const STATED = /(?<minified>[\d.]+) KB minified, (?<compressed>[\d.]+) KB compressed/;

/** Compares what the packed module costs an app with its limits, and with what its README says. */
export async function checkSize(name: string, folder: string): Promise<Outcome> {
  const limit = LIMITS[name];
  if (limit === undefined) return { problems: [`${name} has no limit in scripts/release/package-size.ts`] };
  const { maxBytes, maxGzipBytes, imported } = limit;
  const app = limit.app(join(folder, "dist/index.js"));
  const build = await rolldown({
    external: [...imported],
    input: "app",
    platform: "browser",
    logLevel: "silent",
    plugins: [
      {
        name: "app",
        resolveId: (id) => (id === "app" ? id : null),
        load: (id) => (id === "app" ? app : null),
      },
    ],
  });
  const { output } = await build.generate({ format: "esm", minify: true });
  await build.close();
  const minified = Buffer.byteLength(output[0].code);
  const compressed = gzipSync(output[0].code).length;
  const problems: string[] = [];
  const others = output[0].imports.filter((one) => !imported.includes(one));
  if (others.length > 0) problems.push(`imports ${others.join(", ")}`);
  if (minified > maxBytes) problems.push(`${minified} bytes minified; at most ${maxBytes}`);
  if (compressed > maxGzipBytes) problems.push(`${compressed} bytes compressed; at most ${maxGzipBytes}`);
  const stated = STATED.exec(readFileSync(join(folder, "README.md"), "utf8"))?.groups;
  const measured = { minified: toKiB(minified), compressed: toKiB(compressed) };
  if (stated?.["minified"] !== measured.minified || stated["compressed"] !== measured.compressed)
    problems.push(
      `README.md must say "${measured.minified} KB minified, ${measured.compressed} KB compressed"`,
    );
  return { problems, report: [`${minified} bytes minified, ${compressed} compressed`] };
}

function toKiB(bytes: number): string {
  return (bytes / 1_024).toFixed(1);
}
