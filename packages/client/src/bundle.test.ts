import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { rolldown } from "rolldown";
import { describe, expect, it } from "vitest";

/**
 * Minified, and what of it crosses the network. Close above what it is, so that growth is a decision. Of these, 2.3 and 0.7 KiB are
 * the answers to failures (tool calls and what answers them, attempts in the transcript, and a dozen error codes), 3.3 and 1.1
 * are moderation: what was withdrawn leaves the text here too, by the same rule as in the platform, however often; 0.9 and 0.3 are the
 * budget by time and what wakes it; 0.8 and 0.3 are what was decided behind the end; 1.2 and 0.4 are tokens that are renewed; 0.2 and 0.1 are
 * the codes of limits and of the admin API; 0.3 and 0.1 are tokens that were cached, reasoned or taken by calls; 0.8 and 0.3 are timings that are reported; and the rest is the names of calls that were withdrawn.
 */
const MAX_BYTES = 27.75 * 1_024;
const MAX_GZIP_BYTES = 9.75 * 1_024;

/** The SDK as a browser's page would load it: one minified module. */
async function bundle() {
  const input = fileURLToPath(new URL("./index.ts", import.meta.url));
  const build = await rolldown({ input, platform: "browser", logLevel: "silent" });
  const { output } = await build.generate({ format: "esm", minify: true });
  await build.close();
  return output[0];
}

describe("the bundle for a browser", () => {
  it("is made of this package and the protocol alone: no zod, no node:*", async () => {
    const { imports, moduleIds } = await bundle();
    expect(imports).toEqual([]);
    expect(moduleIds.filter((id) => !/\/packages\/(client|protocol)\/src\//.test(id))).toEqual([]);
  });

  it(`is at most ${MAX_BYTES} bytes minified and ${MAX_GZIP_BYTES} compressed, and uses nothing of Node`, async () => {
    const { code } = await bundle();
    expect(code).not.toMatch(/node:|\bprocess\b|\bBuffer\b/);
    expect(Buffer.byteLength(code)).toBeLessThanOrEqual(MAX_BYTES);
    expect(gzipSync(code).length).toBeLessThanOrEqual(MAX_GZIP_BYTES);
  });
});
