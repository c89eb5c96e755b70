import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createTenantDirectory } from "@reprise/tenancy";
import { createTempDir } from "@reprise/testkit";
import { describe, expect, test } from "vitest";
import { openDevAccess, writeDevFile } from "./dev-file.ts";

const URL = "http://127.0.0.1:8080";

describe("dev.json", () => {
  test("tells where the platform is and the key, to its owner only", async () => {
    await using dir = await createTempDir("dev");
    const { apiKey, operatorKey, tenancy } = await openDevAccess(dir.path);
    await writeDevFile(dir.path, { url: URL, apiKey, operatorKey });
    const path = join(dir.path, "dev.json");
    expect(JSON.parse(await readFile(path, "utf8"))).toEqual({
      url: URL,
      tenant: "demo",
      api_key: apiKey,
      operator_key: operatorKey,
    });
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    const principal = createTenantDirectory(tenancy).authenticate(apiKey);
    expect(principal).toMatchObject({ tenant: "demo" });
    expect(principal!.roles).toEqual(
      new Set([
        "create",
        "read",
        "cancel",
        "tool",
        "input",
        "produce",
        "review",
        "audit",
        "blob",
        "erase",
        "usage",
        "admin",
      ]),
    );
  });

  test("the keys stay from one start to the next", async () => {
    await using dir = await createTempDir("dev");
    const { apiKey, operatorKey } = await openDevAccess(dir.path);
    await writeDevFile(dir.path, { url: URL, apiKey, operatorKey });
    expect(await openDevAccess(dir.path)).toMatchObject({ apiKey, operatorKey });
  });

  test("without the tenant `demo` the file has the operator's key alone", async () => {
    await using dir = await createTempDir("dev");
    const { operatorKey, wasThere } = await openDevAccess(dir.path);
    expect(wasThere).toBe(false);
    await writeDevFile(dir.path, { url: URL, apiKey: undefined, operatorKey });
    const text = await readFile(join(dir.path, "dev.json"), "utf8");
    expect(JSON.parse(text)).toEqual({ url: URL, operator_key: operatorKey });
    expect(await openDevAccess(dir.path)).toMatchObject({ operatorKey, wasThere: false });
  });

  test.each(["", '{ "api_key": "rk_demo_short" }'])(
    "a file without a key of ours gets a new one: %j",
    async (text) => {
      await using dir = await createTempDir("dev");
      await writeFile(join(dir.path, "dev.json"), text);
      const { apiKey } = await openDevAccess(dir.path);
      expect(apiKey).toMatch(/^rk_demo_[A-Za-z0-9_-]{32}$/);
    },
  );

  test("a file that others could read is not so any more", async () => {
    await using dir = await createTempDir("dev");
    await writeFile(join(dir.path, "dev.json"), "{}", { mode: 0o644 });
    await writeDevFile(dir.path, { url: URL, apiKey: "rk_demo_x", operatorKey: undefined });
    expect((await stat(join(dir.path, "dev.json"))).mode & 0o777).toBe(0o600);
  });
});
