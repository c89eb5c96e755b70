import { execFile } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { createTempDir } from "@reprise/testkit";
import { expect, test } from "vitest";
import { bundleImage } from "../../infra/containers/bundle-image.ts";
import { IMAGES } from "../../infra/containers/images.ts";
import { ROOT } from "./testing/compose-file.ts";

const WITH_DUCKDB = ["audit-log", "analytics"];

test.each(IMAGES.map((image) => [image.name, image] as const))(
  "the image %s holds its commands, their licences and no tests, and DuckDB only if it queries Parquet",
  async (name, image) => {
    await using dir = await createTempDir("image");
    await bundleImage(image, ROOT, dir.path);
    for (const entry of image.entries) {
      // Outside the repository: what the bundle lacks is not found.
      const args = [entry.endsWith("cli/main") || name === "set-up" ? "--help" : ""].filter(Boolean);
      const run = promisify(execFile)(process.execPath, [`${entry}.js`, ...args], { cwd: dir.path, env: {} });
      const { stdout, stderr } = await run.catch((error: { stdout: string; stderr: string }) => error);
      expect(stdout + stderr).toMatch(
        args.length > 0 ? /^Usage|reprise-|npm run|main\.js/ : /REPRISE_\w+ is missing/,
      );
    }
    const files = globSync("**/*", { cwd: dir.path });
    expect(files.filter((path) => /vitest|testkit|testcontainers|\.test\./.test(path))).toEqual([]);
    expect(files.some((path) => path.endsWith("duckdb.node"))).toBe(WITH_DUCKDB.includes(name));
    expect(readFileSync(join(dir.path, "LICENCES"), "utf8")).toMatch(
      /Apache License[\s\S]+\nzod [\d.]+, MIT\n/,
    );
  },
);
