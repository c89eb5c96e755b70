import { createTempDir } from "@reprise/testkit";
import { expect, test } from "vitest";
import { bundlePage, openPage, serveSite } from "./testing/browser.ts";
import { startPlatform } from "./testing/platform.ts";

test("a page of another origin creates and reads generations by Connect and gRPC-Web", async () => {
  await using stack = new AsyncDisposableStack();
  const { page } = stack.use(await openPage());
  const dir = stack.use(await createTempDir("browser"));
  const site = await serveSite(await bundlePage(new URL("browser/rpc-page.ts", import.meta.url)));
  stack.defer(() => void site.server.close());
  const env = { REPRISE_CORS_ORIGINS: site.origin, REPRISE_AUDIT: "off", REPRISE_ANALYTICS: "off" };
  const { url, apiKey: key } = stack.use(await startPlatform(dir.path, env));
  await page.goto(`${site.origin}/#${new URLSearchParams({ url, key }).toString()}`);
  await page.waitForFunction(() => document.querySelector("pre")!.textContent !== "");
  const each = {
    first: 1,
    isWhole: true,
    last: "generation.completed",
    error: "NotFound",
    problem: "generation_not_found",
  };
  const told = JSON.parse((await page.locator("pre").textContent())!) as unknown;
  expect(told).toEqual({ connect: each, binary: each, grpcWeb: each });
});
