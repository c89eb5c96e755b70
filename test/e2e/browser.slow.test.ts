import { createTempDir, startTcpProxy } from "@reprise/testkit";
import { createClient } from "@reprise/client";
import { expect, test } from "vitest";
import { bundlePage, openPage, serveSite } from "./testing/browser.ts";
import { startPlatform } from "./testing/platform.ts";

/** The stream is longer, however few events a slow worker's text comes in. */
const LIFE_BYTES = 1_000;
const LOSSES = 4;

test("a page of another origin runs a generation, loses its network in the middle, and shows the whole text", async () => {
  await using stack = new AsyncDisposableStack();
  const { page } = stack.use(await openPage());
  const dir = stack.use(await createTempDir("browser"));
  const site = await serveSite(await bundlePage(new URL("browser/page.ts", import.meta.url)));
  stack.defer(() => void site.server.close());
  const platform = stack.use(await startPlatform(dir.path, { REPRISE_CORS_ORIGINS: site.origin }));
  const proxy = stack.use(
    await startTcpProxy({
      target: { port: Number(new URL(platform.url).port) },
      faults: (index) => (index < LOSSES ? { toClient: { cutAfterBytes: LIFE_BYTES } } : {}),
    }),
  );
  const problems: string[] = [];
  page.on("pageerror", (error) => problems.push(String(error)));
  const settings = new URLSearchParams({ url: `http://${proxy.host}:${proxy.port}`, key: platform.apiKey });
  await page.goto(`${site.origin}/#${settings.toString()}`);
  await page.waitForFunction(() => document.querySelector("pre")?.dataset["status"] !== undefined);

  const output = page.locator("pre");
  const told = (name: string) => output.getAttribute(`data-${name}`);
  const { text, status } = await createClient(platform).generations.get((await told("id"))!);
  expect({ text: await output.textContent(), status: await told("status") }).toEqual({ text, status });
  expect(status).toBe("completed");
  expect(Number(await told("reconnects"))).toBeGreaterThan(0);
  expect(problems).toEqual([]);
});
