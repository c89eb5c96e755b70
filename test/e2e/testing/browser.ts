import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { type Browser, chromium, type Page } from "playwright-core";
import { rolldown } from "rolldown";
import { findChromium } from "../../../scripts/programs/test-programs.ts";

const CHROMIUM_ARGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"];

/** Serves a page with one script, from another origin than the API's. */
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

/** Opens a page in Chromium; the test's own limit bounds its waits. */
export async function openPage(args: readonly string[] = []): Promise<OpenPage> {
  const browser = await openBrowser(args);
  const page = await browser.newPage();
  page.setDefaultTimeout(0);
  return { page, [Symbol.asyncDispose]: () => browser.close() };
}

/** @throws Error without a Chromium: scripts/programs/test-programs.ts lists the tests that need it */
export async function openBrowser(args: readonly string[] = []): Promise<Browser> {
  const executablePath = findChromium();
  if (executablePath === undefined) throw new Error("PATH has no Chromium.");
  return chromium.launch({ executablePath, args: [...CHROMIUM_ARGS, ...args], timeout: 0 });
}

/** A page's script of `browser/` as one file, as a bundler makes it for a browser: what needs Node fails here. */
export async function bundlePage(url: URL): Promise<string> {
  const bundle = await rolldown({
    input: fileURLToPath(url),
    platform: "browser",
    logLevel: "silent",
  });
  try {
    const { output } = await bundle.generate({ format: "esm", codeSplitting: false });
    if (output.length > 1) throw new Error(`${url.href} becomes ${output.length} files`);
    return output[0].code;
  } finally {
    await bundle.close();
  }
}
