import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type Browser, chromium, type Page } from "playwright-core";
import type { TestContext } from "vitest";
import { findChromium } from "../../../scripts/programs/test-programs.ts";

const CHROMIUM_ARGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"];

/** A page, of an origin other than the API's, with one script. */
export async function serveSite(script: string) {
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

export interface OpenPage extends AsyncDisposable {
  readonly page: Page;
}

/** A page in Chromium, with the test's own limit of time. A test where there is none says so and is skipped. */
export async function openPage(context: TestContext, args: readonly string[] = []): Promise<OpenPage> {
  const browser = await openBrowser(args);
  if (!browser) return context.skip("there is no Chromium on PATH");
  const page = await browser.newPage();
  page.setDefaultTimeout(0);
  return { page, [Symbol.asyncDispose]: () => browser.close() };
}

/** Chromium. Where there is none it says so, and is undefined: what needs it is to be skipped. */
export async function openBrowser(args: readonly string[] = []): Promise<Browser | undefined> {
  const executablePath = findChromium();
  if (executablePath !== undefined)
    return chromium.launch({ executablePath, args: [...CHROMIUM_ARGS, ...args], timeout: 0 });
  process.stderr.write("SKIPPED, NOT TESTED IN A BROWSER: there is no Chromium on PATH\n");
  return undefined;
}
