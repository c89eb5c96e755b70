import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { rolldown } from "rolldown";
import { describe, expect, it } from "vitest";
import { DOOR_BYTES, MAX_BYTES, MAX_GZIP_BYTES, streamingApp } from "./bundle-size.fixture.ts";

const pathOf = (door: string) => fileURLToPath(new URL(door, import.meta.url));

/** A module of the SDK as a browser's page would load it, minified. @param app what imports it; default: all of it is loaded */
async function bundle(door = "index.ts", app?: string) {
  const build = await rolldown({
    input: app === undefined ? pathOf(door) : "app",
    platform: "browser",
    logLevel: "silent",
    plugins: [
      {
        name: "app",
        resolveId: (id) => (id === "app" ? id : null),
        load: (id) => (id === "app" ? app! : null),
      },
    ],
  });
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

  it(`is at most ${MAX_BYTES} bytes minified and ${MAX_GZIP_BYTES} compressed in an app that streams, and uses nothing of Node`, async () => {
    const { code } = await bundle("index.ts", streamingApp(pathOf("index.ts")));
    expect(code).not.toMatch(/node:|\bprocess\b|\bBuffer\b/);
    expect(Buffer.byteLength(code)).toBeLessThanOrEqual(MAX_BYTES);
    expect(gzipSync(code).length).toBeLessThanOrEqual(MAX_GZIP_BYTES);
  });
});

describe("a module beside it", () => {
  // Each is a bundle of its own: a class that it brought along would be another one than the client's.
  it.each(Object.entries(DOOR_BYTES))(
    "%s has nothing of the first one, and is at most %i bytes",
    async (door, bytes) => {
      const { code, imports, moduleIds } = await bundle(`${door}/index.ts`);
      expect(imports).toEqual([]);
      expect(moduleIds.filter((id) => !id.includes(`/packages/client/src/${door}/`))).toEqual([]);
      expect(code).not.toMatch(/node:|\bprocess\b|\bBuffer\b/);
      expect(Buffer.byteLength(code)).toBeLessThanOrEqual(bytes);
    },
  );
});
