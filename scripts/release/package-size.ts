import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { rolldown } from "rolldown";
import { MAX_BYTES, MAX_GZIP_BYTES } from "../../packages/client/src/bundle-size.fixture.ts";
import type { Outcome } from "./step.ts";

/** As README.md says it: `27 KB minified, 9.6 KB compressed`. */
const STATED = /(?<minified>[\d.]+) KB minified, (?<compressed>[\d.]+) KB compressed/;

/** Compares what the packed module costs a page with its limits, and with what its README says. */
export async function checkSize(folder: string): Promise<Outcome> {
  const build = await rolldown({
    input: join(folder, "dist/index.js"),
    platform: "browser",
    logLevel: "silent",
  });
  const { output } = await build.generate({ format: "esm", minify: true });
  await build.close();
  const minified = Buffer.byteLength(output[0].code);
  const compressed = gzipSync(output[0].code).length;
  const problems: string[] = [];
  if (output[0].imports.length > 0) problems.push(`imports ${output[0].imports.join(", ")}`);
  if (minified > MAX_BYTES) problems.push(`${minified} bytes minified; at most ${MAX_BYTES}`);
  if (compressed > MAX_GZIP_BYTES) problems.push(`${compressed} bytes compressed; at most ${MAX_GZIP_BYTES}`);
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
