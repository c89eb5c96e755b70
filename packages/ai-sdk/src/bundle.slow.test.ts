import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { rolldown } from "rolldown";
import { describe, expect, it } from "vitest";
import { IMPORTED, MAX_BYTES, MAX_GZIP_BYTES, wholeApp } from "./bundle-size.fixture.ts";

async function bundle() {
  const app = wholeApp(fileURLToPath(new URL("index.ts", import.meta.url)));
  const build = await rolldown({
    input: "app",
    platform: "browser",
    logLevel: "silent",
    external: [...IMPORTED],
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
  return output[0];
}

describe("the bundle for a browser", () => {
  it("is made of this package and the projections alone, beside the client: no ai, no zod, no node:*", async () => {
    const { imports, moduleIds } = await bundle();
    expect(imports).toEqual(IMPORTED);
    const own =
      /^app$|\/packages\/(ai-sdk|projections)\/src\/|\/protocol\/src\/(wire|json\/to-line-json)\.ts$/;
    const others = moduleIds.filter((id) => !own.test(id));
    expect(others).toEqual([]);
  });

  it(`is at most ${MAX_BYTES} bytes minified and ${MAX_GZIP_BYTES} compressed, and uses nothing of Node`, async () => {
    const { code } = await bundle();
    expect(code).not.toMatch(/node:|\bprocess\b|\bBuffer\b/);
    expect(Buffer.byteLength(code)).toBeLessThanOrEqual(MAX_BYTES);
    expect(gzipSync(code).length).toBeLessThanOrEqual(MAX_GZIP_BYTES);
  });
});
