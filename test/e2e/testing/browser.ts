import { once } from "node:events";
import { existsSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { delimiter, join } from "node:path";
import { chromium, type Page } from "playwright-core";
import type { TestContext } from "vitest";

const NO_CHROMIUM = "there is no Chromium, neither `chromium` on PATH nor /usr/bin/chromium.";
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
  const executablePath = findChromium();
  if (executablePath === undefined) {
    process.stderr.write(`SKIPPED, NOT TESTED IN A BROWSER: ${NO_CHROMIUM}\n`);
    return context.skip(NO_CHROMIUM);
  }
  const browser = await chromium.launch({ executablePath, args: [...CHROMIUM_ARGS, ...args], timeout: 0 });
  const page = await browser.newPage();
  page.setDefaultTimeout(0);
  return { page, [Symbol.asyncDispose]: () => browser.close() };
}

function findChromium(): string | undefined {
  const folders = (process.env["PATH"] ?? "").split(delimiter).filter((folder) => folder !== "");
  const candidates = [...folders.map((folder) => join(folder, "chromium")), "/usr/bin/chromium"];
  return candidates.find((path) => existsSync(path));
}
