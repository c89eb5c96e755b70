import { once } from "node:events";
import { existsSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type Browser, chromium, type Page } from "playwright-core";
import type { TestContext } from "vitest";
import { findChromium } from "../../../scripts/programs/find-chromium.ts";
import { installCommand } from "../../../scripts/programs/install-command.ts";
import { readMachine } from "../../../scripts/programs/machine.ts";

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
  const executablePath = findChromium() ?? findPlaywrightChromium();
  if (executablePath !== undefined)
    return chromium.launch({ executablePath, args: [...CHROMIUM_ARGS, ...args], timeout: 0 });
  const command = installCommand(await readMachine(), ["chromium"]) ?? "your system's package of it";
  const reason = `there is no Chromium on PATH. To install it: ${command}`;
  process.stderr.write(`SKIPPED, NOT TESTED IN A BROWSER: ${reason}\n`);
  return undefined;
}

function findPlaywrightChromium(): string | undefined {
  const path = chromium.executablePath();
  return existsSync(path) ? path : undefined;
}
