import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { rolldown } from "rolldown";
import { describe, expect, it } from "vitest";
import { MAX_BYTES, MAX_GZIP_BYTES } from "./bundle-size.fixture.ts";

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
