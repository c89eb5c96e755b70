import { createTempDir, createTestCertificates } from "@reprise/testkit";
import { expect, test } from "vitest";
import { openPage, serveSite } from "./testing/browser.ts";
import { startPlatform } from "./testing/platform.ts";

/** More than the six connections that a browser opens to one host. */
const STREAMS = 12;

test("a page has more EventSources open at a time than HTTP/1.1 has connections", async () => {
  await using stack = new AsyncDisposableStack();
  const { page } = stack.use(await openPage(["--ignore-certificate-errors"]));
  const dir = stack.use(await createTempDir("browser"));
  const { cert, key } = await (await createTestCertificates(dir.path)).issue("server", ["127.0.0.1"]);
  const site = await serveSite("");
  stack.defer(() => void site.server.close());
  const tls = { REPRISE_TLS_CERT: cert, REPRISE_TLS_KEY: key, REPRISE_AUDIT: "off" };
  const platform = stack.use(await startPlatform(dir.path, tls));
  await page.goto(site.origin);
  const { url, apiKey } = platform;
  const open = await page.evaluate(
    async ({ url: api, apiKey: secret, count }) => {
      const post = async (path: string, body: unknown) => {
        const headers = { authorization: `Bearer ${secret}`, "content-type": "application/json" };
        const answer = await fetch(api + path, { method: "POST", headers, body: JSON.stringify(body) });
        return (await answer.json()) as { id: string; token: string };
      };
      const request = { model: "sim", input: "Hi", options: { tokens: 100_000, tokens_per_second: 20 } };
      const { id } = await post("/v1/generations", request);
      const { token } = await post(`/v1/generations/${id}/tokens`, { scopes: ["read"] });
      const sources = Array.from(
        { length: count },
        () => new EventSource(`${api}/v1/generations/${id}/events?token=${token}`),
      );
      await Promise.all(
        sources.map((source) => new Promise((resolve) => source.addEventListener("message", resolve))),
      );
      const states = sources.map(({ readyState }) => readyState);
      for (const source of sources) source.close();
      await post(`/v1/generations/${id}/cancel`, {});
      return states;
    },
    { url, apiKey, count: STREAMS },
  );
  expect(open).toEqual(Array.from({ length: STREAMS }, () => 1));
});
