import { setTimeout as delay } from "node:timers/promises";
import { createClient, type GenerationStream } from "@reprise/client";
import { DEFAULT_POLICY } from "@reprise/protocol";
import { type DemoPlatform, startDemoPlatform } from "./demo-platform.ts";
import { showAudit } from "./show-audit.ts";
import { showRedaction } from "./show-redaction.ts";
import { openTcpRelay } from "./tcp-relay.ts";
import { unfitAnswer } from "./unfit-answer.ts";
import { addedLatency, compareReaders, type Verdict } from "./verdict.ts";

interface Output {
  write(text: string): unknown;
}

interface Reading {
  readonly events: { seq: number; text: string }[];
  /** The length of the text at each arrival, and the time. */
  readonly arrivals: { end: number; at: number }[];
}

const PROMPT = "Why should a token stream be durable?";
/** Number of events after which the network of the disturbed reader is cut. */
const CUT_AFTER_EVENTS = 25;
/** Time that a cancelled generation's engine request may stay open. */
const ENGINE_PATIENCE_MS = 5_000;
/** After so long without a token the demo says what it waits for. */
const SILENCE_MS = 3_000;

export interface DemoOptions {
  /** Time until the model's first token. Default: as long as the platform's policies let it. */
  readonly firstTokenMs?: number;
  /** Default 3 s. */
  readonly silenceMs?: number;
}

/** Runs the demo and tells about it. Returns whether everything that it claims was seen to be true. */
export async function runDemo(
  env: Readonly<Record<string, string | undefined>>,
  out: Output,
  options: DemoOptions = {},
): Promise<boolean> {
  await using platform = await startDemoPlatform(env);
  out.write(`\nReprise is up at ${platform.url}, with a nats-server of its own. `);
  out.write(
    platform.simulated
      ? "The engine is the built-in simulator, not a model.\n\n"
      : `The engine is ${platform.model}.\n\n`,
  );
  if (platform.simulated) await warmUp(platform);
  const resume = await showResume(platform, out, options);
  if (resume === "unfit") return false;
  const cancel = await showCancel(platform, out);
  const redaction = await showRedaction(platform, out);
  const audit = await showAudit(platform, redaction, out);
  const ok = resume && cancel && redaction.ok && audit;
  out.write(ok ? "\nAll of it is true.\n" : "\nSomething above is not as it should be.\n");
  return ok;
}

/** One token, so that what is measured is the platform and not the compilation of it. */
async function warmUp({ url, apiKey, model, watch }: DemoPlatform): Promise<void> {
  await createClient({ url, apiKey })
    .generations.run({ model, input: "warm-up", options: { tokens: 1 } })
    .done();
  watch.pieces.length = 0;
}

async function showResume(
  platform: DemoPlatform,
  out: Output,
  { firstTokenMs = DEFAULT_POLICY.timeouts.first_token.after_ms, silenceMs = SILENCE_MS }: DemoOptions,
): Promise<boolean | "unfit"> {
  const { url, apiKey, model, simulated, server, watch } = platform;
  await using relay = await openTcpRelay(url);
  const direct = createClient({ url, apiKey });
  const overRelay = createClient({ url: relay.url, apiKey });

  const startedAt = performance.now();
  const request = {
    model,
    input: PROMPT,
    policy: { timeouts: { first_token: { after_ms: firstTokenMs } } },
    ...(simulated && { options: { tokens: 120, tokens_per_second: 50 } }),
  };
  const disturbed = overRelay.generations.run(request);
  let undisturbed: Promise<Reading> | undefined;
  let connections = 0;

  out.write(`> ${PROMPT}\n\n`);
  using waiting = announceWait({
    text: () =>
      `Waiting for the first token of ${server ?? "the simulator"}, ${firstTokenMs / 1_000} s at most …\n\n`,
    afterMs: silenceMs,
    write: (text) => out.write(text),
  });
  const mine = await read(disturbed, (event, count) => {
    if (event.type !== "generation.started") waiting[Symbol.dispose]();
    out.write(event.text ?? "");
    // A stream that has had an event knows its generation.
    undisturbed ??= read(direct.generations.stream(disturbed.id!));
    if (count === CUT_AFTER_EVENTS) {
      connections = relay.cut();
      out.write("\u2702");
    }
  });
  out.write("\n\n");
  // A stream that has ended without an error has had an event.
  const theirs = await undisturbed!;

  const { status, error } = await disturbed.done();
  const unfit = unfitAnswer(
    { status, error, events: mine.events.length },
    { cutAfterEvents: CUT_AFTER_EVENTS, server, failure: watch.failure },
  );
  if (unfit !== undefined) {
    out.write(`${unfit}\n`);
    return "unfit";
  }

  const verdict = compareReaders(theirs.events, mine.events);
  const [[pieces], [firstText]] = [watch.pieces, mine.arrivals];
  if (!pieces || !firstText) {
    out.write("The model's answer has no text, so there is no latency to tell.\n");
    return "unfit";
  }
  const latency = addedLatency(pieces, theirs.arrivals);
  const tookMs = firstText.at - startedAt;
  const resumed = connections > 0 && disturbed.reconnects > 0;
  const rows: [string, string][] = [
    [
      "TCP connections destroyed in mid-stream",
      `${connections}, resumed ${disturbed.reconnects} time(s) by the SDK`,
    ],
    ["time to first token, create included", `${tookMs.toFixed(1)} ms`],
    ["added latency, engine to reader", `p50 ${latency.p50.toFixed(2)} ms, p99 ${latency.p99.toFixed(2)} ms`],
    ["events", `${theirs.events.length} seen by the undisturbed reader, ${mine.events.length} by the other`],
    ["lost / repeated / reordered", `${verdict.lost} / ${verdict.repeated} / ${verdict.reordered}`],
    ["bytes", verdict.identical ? "the same for both" : "NOT the same"],
  ];
  for (const [name, value] of rows) out.write(`  ${name.padEnd(42)}${value}\n`);
  return resumed && isFlawless(verdict);
}

async function showCancel(
  { url, apiKey, model, simulated, watch }: DemoPlatform,
  out: Output,
): Promise<boolean> {
  const client = createClient({ url, apiKey });
  const options = simulated && { options: { tokens: 100_000, tokens_per_second: 50 } };
  const input = "Count to a million, slowly.";
  const stream = client.generations.run({ model, input, ...options });
  let engineEnded: Promise<number> | undefined;
  await read(stream, (_event, count) => {
    if (count !== 5) return;
    const cancelledAt = performance.now();
    engineEnded = watch.idle().then(() => performance.now() - cancelledAt);
    void stream.cancel();
  });
  const endedAfterMs = await Promise.race([
    engineEnded,
    delay(ENGINE_PATIENCE_MS, undefined, { ref: false }),
  ]);
  const closed = endedAfterMs !== undefined;
  const engine = closed
    ? `its engine request ended after ${endedAfterMs.toFixed(1)} ms`
    : "its engine request is STILL OPEN";
  out.write(`  ${"another generation, cancelled".padEnd(42)}${stream.status}; ${engine}\n`);
  return closed && stream.status === "cancelled";
}

/** Reads a stream to its end, and tells of each event as it comes. */
async function read(
  stream: GenerationStream,
  onEvent?: (event: { type: string; text?: string }, count: number) => void,
): Promise<Reading> {
  const reading: Reading = { events: [], arrivals: [] };
  let end = 0;
  for await (const event of stream) {
    reading.events.push({ seq: event.seq, text: JSON.stringify(event) });
    const text = event.type === "output.delta" ? event.text : undefined;
    if (text !== undefined) {
      end += text.length;
      reading.arrivals.push({ end, at: performance.now() });
    }
    onEvent?.({ type: event.type, ...(text !== undefined && { text }) }, reading.events.length);
  }
  return reading;
}

function isFlawless({ lost, repeated, reordered, identical }: Verdict): boolean {
  return lost === 0 && repeated === 0 && reordered === 0 && identical;
}

interface WaitAnnouncement {
  /** Written when the wait has taken `afterMs`. */
  readonly text: () => string;
  readonly afterMs: number;
  readonly write: (text: string) => unknown;
}

/** Says what is waited for, once, unless it is disposed of before: a terminal that shows nothing for long looks like a program that hangs. */
function announceWait({ text, afterMs, write }: WaitAnnouncement): Disposable {
  const timer = setTimeout(() => write(text()), afterMs);
  return { [Symbol.dispose]: () => clearTimeout(timer) };
}
