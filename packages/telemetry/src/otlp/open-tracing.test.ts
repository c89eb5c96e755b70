import { PATIENCE_MS, startOtlpReceiver, startTcpProxy } from "@reprise/testkit";
import { describe, expect, it } from "vitest";
import { describeTracing } from "../testing/tracing-conformance.ts";
import { NO_TRACING } from "../tracing/no-tracing.ts";
import { openTracing } from "./open-tracing.ts";

/** No server listens there. */
const NOWHERE = 1;

describeTracing("OTLP", async (sample, options) => {
  await using stack = new AsyncDisposableStack();
  const receiver = stack.use(await startOtlpReceiver());
  const { tracing } = await open({ url: receiver.url, sample, ...options });
  stack.use(tracing);
  const owned = stack.move();
  return {
    tracing,
    async finish() {
      await tracing[Symbol.asyncDispose]();
      return receiver.spans.map(({ service, ...span }) => {
        expect(service).toBe("reprise-test");
        return span;
      });
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
});

describe("tracing without a collector's URL", () => {
  it("is off, and gives one and the same span", async () => {
    const { tracing } = await open({ url: undefined });
    expect(tracing).toBe(NO_TRACING);
    const span = tracing.start("work", { kind: "server" });
    expect(tracing.start("more")).toBe(span);
    expect(span.context).toBeUndefined();
  });
});

describe("a collector", () => {
  it("is sent the headers that it was given, and no attributes beyond their bound", async () => {
    await using receiver = await startOtlpReceiver();
    await using opened = await open({ url: `${receiver.url}/`, headers: { "x-key": "k1" } });
    opened.tracing.start("work", { attributes: { long: "x".repeat(10_000) } }).end();
    await opened.tracing[Symbol.asyncDispose]();
    expect(receiver.headers["x-key"]).toBe("k1");
    expect(receiver.spans[0]?.attributes["long"]).toHaveLength(512);
  });

  it("that is away is told of once, what was lost is counted, and it gets spans when it is back", async () => {
    let port = NOWHERE;
    await using way = await startTcpProxy({ target: () => ({ port }) });
    await using opened = await open({ url: `http://127.0.0.1:${way.port}` });
    const { tracing, told } = opened;
    tracing.start("lost").end();
    await opened.untilTold("away");

    await using receiver = await startOtlpReceiver();
    ({ port } = receiver);
    tracing.start("kept").end();
    await receiver.until((spans) => spans.length > 0);
    await opened.untilTold("back");
    expect(told).toEqual(["away", "back, 1 lost"]);
    expect(receiver.spans.map(({ name }) => name)).toEqual(["kept"]);
    expect(tracing.counts).toEqual({ exported: 1, dropped: 1 });
  });

  it("that answers 500 costs its spans and nothing else", async () => {
    await using receiver = await startOtlpReceiver();
    receiver.answer = "refuse";
    await using opened = await open({ url: receiver.url });
    opened.tracing.start("lost").end();
    await opened.untilTold("away");
    receiver.answer = "take";
    opened.tracing.start("kept").end();
    await opened.untilTold("back");
    expect(receiver.spans.map(({ name }) => name)).toEqual(["kept"]);
  });

  it("that hangs holds up neither work nor the end, and what waits for it is bounded", async () => {
    await using receiver = await startOtlpReceiver();
    receiver.answer = "hang";
    const { tracing } = await open({ url: receiver.url, closeMs: 20 });
    for (let made = 0; made < 5_000; made++) tracing.start("work").end();
    await receiver.untilRequested(1);
    // Those of the first batch are on their way, and further ones wait.
    expect(tracing.counts.dropped).toBe(5_000 - 512 - 2_048);
    await tracing[Symbol.asyncDispose]();
  });
});

interface Opened extends AsyncDisposable {
  readonly tracing: Awaited<ReturnType<typeof openTracing>>;
  readonly told: readonly string[];
  untilTold(what: string): Promise<void>;
}

async function open(
  options: Partial<Parameters<typeof openTracing>[0]> & { url: string | undefined },
): Promise<Opened> {
  const told: string[] = [];
  let heard = Promise.withResolvers<void>();
  const tell = (what: string) => {
    told.push(what);
    heard.resolve();
    heard = Promise.withResolvers();
  };
  const tracing = await openTracing({
    service: "reprise-test",
    instance: "i1",
    sample: 1,
    // A receiver of this process answers late on a busy machine.
    timeoutMs: PATIENCE_MS,
    closeMs: PATIENCE_MS,
    onAway: () => tell("away"),
    onBack: ({ dropped }) => tell(`back, ${dropped} lost`),
    ...options,
  });
  return {
    tracing,
    told,
    async untilTold(what) {
      while (!told.some((line) => line.startsWith(what))) await heard.promise;
    },
    [Symbol.asyncDispose]: () => tracing[Symbol.asyncDispose](),
  };
}
