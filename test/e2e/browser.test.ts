import { existsSync } from "node:fs";
import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { createTempDir, startTcpProxy } from "@reprise/testkit";
import { createClient } from "@reprise/client";
import { chromium } from "playwright-core";
import { rolldown } from "rolldown";
import { expect, test } from "vitest";
import { startPlatform } from "./testing/platform.ts";

const NO_CHROMIUM = "there is no Chromium, neither `chromium` on PATH nor /usr/bin/chromium.";
/** The stream is longer, however few events a slow worker's text comes in. */
const LIFE_BYTES = 1_000;
const LOSSES = 4;
const CHROMIUM_ARGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"];

test("a page of another origin runs a generation, loses its network in the middle, and shows the whole text", async (context) => {
  const executablePath = findChromium();
  if (executablePath === undefined) {
    process.stderr.write(`SKIPPED, NOT TESTED IN A BROWSER: ${NO_CHROMIUM}\n`);
    context.skip(NO_CHROMIUM);
    return;
  }
  await using stack = new AsyncDisposableStack();
  const dir = stack.use(await createTempDir("browser"));
  const site = await serveSite(await bundlePage());
  stack.defer(() => void site.server.close());
  const platform = stack.use(await startPlatform(dir.path, { REPRISE_CORS_ORIGINS: site.origin }));
  const proxy = stack.use(
    await startTcpProxy({
      target: { port: Number(new URL(platform.url).port) },
      faults: (index) => (index < LOSSES ? { toClient: { cutAfterBytes: LIFE_BYTES } } : {}),
    }),
  );
  // How long anything may take is for the test's own limit.
  const browser = await chromium.launch({ executablePath, args: CHROMIUM_ARGS, timeout: 0 });
  stack.defer(() => browser.close());

  const page = await browser.newPage();
  page.setDefaultTimeout(0);
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

/** The page's script as one file, as a bundler makes it for a browser: what needs Node fails here. */
async function bundlePage(): Promise<string> {
  const bundle = await rolldown({
    input: fileURLToPath(new URL("browser/page.ts", import.meta.url)),
    platform: "browser",
    logLevel: "silent",
  });
  try {
    const { output } = await bundle.generate({ format: "esm", codeSplitting: false });
    expect(output).toHaveLength(1);
    return output[0].code;
  } finally {
    await bundle.close();
  }
}

async function serveSite(script: string) {
  const server = createServer((request, response) => {
    const isScript = request.url === "/page.js";
    response.setHeader("content-type", isScript ? "text/javascript" : "text/html; charset=utf-8");
    response.end(
      isScript
        ? script
        : `<!doctype html><link rel="icon" href="data:,"><pre></pre><script type="module" src="/page.js"></script>`,
    );
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { server, origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

function findChromium(): string | undefined {
  const folders = (process.env["PATH"] ?? "").split(delimiter).filter((folder) => folder !== "");
  const candidates = [...folders.map((folder) => join(folder, "chromium")), "/usr/bin/chromium"];
  return candidates.find((path) => existsSync(path));
}
