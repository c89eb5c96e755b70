import { once } from "node:events";
import { MemoryCounters } from "@reprise/tenancy";
import fastify from "fastify";
import { expect, test } from "vitest";
import { createPrincipal } from "../testing/principal.ts";
import { RequestLimits } from "./request-limits.ts";

const PRINCIPAL = createPrincipal({ limits: { tenant: { readers: 5 } } });

for (const when of ["before the call is counted", "while the counters are asked"]) {
  test(`a client that leaves ${when} holds no share of readers`, async () => {
    const counters = new MemoryCounters();
    const asked = Promise.withResolvers<void>();
    const left = Promise.withResolvers<void>();
    await using limits = new RequestLimits({
      counters: {
        async take(checks) {
          asked.resolve();
          await left.promise;
          return counters.take(checks);
        },
        settle: counters.settle.bind(counters),
        release: counters.release.bind(counters),
      },
      reader: { readLast: async () => undefined, readLog: () => Promise.reject(new Error("is not read")) },
      onRefused: () => {},
      onError: (error) => {
        throw error;
      },
    });
    const attached = Promise.withResolvers<number>();
    await using app = fastify();
    app.get("/", async (request, reply) => {
      const closed = once(reply.raw, "close").then(() => left.resolve());
      if (when.startsWith("before")) {
        asked.resolve();
        await closed;
      }
      await limits.attach([request, reply], PRINCIPAL, { isStream: true, waits: false });
      attached.resolve(limits.held);
      return "";
    });
    const client = new AbortController();
    const answer = fetch(await app.listen({ port: 0, host: "127.0.0.1" }), { signal: client.signal });
    await asked.promise;
    client.abort();
    await expect(answer).rejects.toThrow();
    expect(await attached.promise).toBe(0);
    expect(counters.size).toBe(0);
  });
}
