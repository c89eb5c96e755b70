import { randomBytes } from "node:crypto";
import type { EventDraft, GenerationRef } from "@reprise/protocol";
import {
  createRef,
  delta,
  PATIENCE_MS,
  requested,
  startStoredBroker,
  startTcpProxy,
  startTestBroker,
  type StoredBroker,
  type TcpProxy,
  type TestBroker,
  untilAnswered,
} from "@reprise/testkit";
import { type Broker, connectBroker, type Publish, ensureTopology } from "@reprise/broker";
import { expect } from "vitest";
import { Appender, type AppenderOptions } from "../append/appender.ts";
import { EMPTY_LOG } from "../read/log-head.ts";
import { createGenerationLog, type GenerationLog } from "../read/generation-log.ts";

export { cancelled, completed, delta, requested, started } from "@reprise/testkit";

/** A real broker with the streams in it, and one process's connections to it. */
export interface World<Server = TestBroker> extends AsyncDisposable {
  readonly server: Server;
  readonly broker: Broker;
  readonly log: GenerationLog;
  /** Errors reported as defects. Tests end by expecting none. */
  readonly errors: unknown[];
}

export const SHARDS = 2;
const HOUR_MS = 3_600_000;

export async function openWorld(retentionMs = HOUR_MS): Promise<World> {
  await using stack = new AsyncDisposableStack();
  const server = stack.use(await startTestBroker());
  return await connectWorld(stack.move(), server, server.url, retentionMs);
}

/** A world whose connections go through a proxy. */
export async function openWorldBehindProxy(): Promise<World & { readonly proxy: TcpProxy }> {
  await using stack = new AsyncDisposableStack();
  const server = stack.use(await startTestBroker());
  const proxy = stack.use(await startTcpProxy({ target: { port: server.port } }));
  return { ...(await connectWorld(stack.move(), server, `nats://${proxy.host}:${proxy.port}`)), proxy };
}

/** A world whose broker can lose what it has stored. */
export async function openWorldToRollBack(): Promise<World<StoredBroker>> {
  await using stack = new AsyncDisposableStack();
  const server = stack.use(await startStoredBroker());
  return await connectWorld(stack.move(), server, server.url);
}

/** Two processes at one broker that can lose what it has stored: one whose connections go through a proxy, one whose do not. */
export async function openWorldsToRollBack() {
  await using stack = new AsyncDisposableStack();
  const server = stack.use(await startStoredBroker());
  const proxy = stack.use(await startTcpProxy({ target: { port: server.port } }));
  const join = async (url: string) => stack.use(await connectWorld(new AsyncDisposableStack(), server, url));
  const direct = await join(server.url);
  const behindProxy = await join(`nats://${proxy.host}:${proxy.port}`);
  const kept = stack.move();
  return { server, proxy, direct, behindProxy, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

async function connectWorld<Server>(
  owned: AsyncDisposableStack,
  server: Server,
  url: string,
  retentionMs = HOUR_MS,
): Promise<World<Server>> {
  await using stack = owned;
  const errors: unknown[] = [];
  const onError = (error: unknown) => void errors.push(error);
  const broker = stack.use(await connectBroker({ url, name: "test", onError }));
  const made = createGenerationLog(broker);
  const log = {
    ...made,
    publish: patiently(made.publish),
    publishCheckpoint: patiently(made.publishCheckpoint),
    get connected() {
      return made.connected;
    },
  };
  await untilAnswered(() => ensureTopology(broker.main, { shards: SHARDS, replicas: 1, retentionMs }));
  const kept = stack.move();
  return { server, broker, log, errors, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

/** An appender publishes again what is not answered within a second; a test that publishes once waits for a busy broker. */
function patiently(publish: Publish): Publish {
  return (subject, payload, options) => publish(subject, payload, { timeoutMs: PATIENCE_MS, ...options });
}

export function newRef(tenant = "acme"): GenerationRef {
  return createRef(tenant, SHARDS);
}

/** An appender that nothing fences, unless told otherwise. */
export function appenderOf(
  log: GenerationLog,
  ref: GenerationRef,
  options: Partial<AppenderOptions> = {},
): Appender {
  const { publish, leader } = log;
  return new Appender({
    publish,
    leader,
    ref,
    head: EMPTY_LOG,
    writer: uniqueName(),
    isFence: () => false,
    ...options,
  });
}

/** Appends one event and waits until it is stored. */
export async function appendOne(appender: Appender, draft: EventDraft): Promise<void> {
  appender.append(draft);
  await appender.settled();
}

/** Appends this number of deltas to a fresh log, after the request: `deltas` + 1 events. */
export async function writeLog(log: GenerationLog, ref: GenerationRef, deltas: number): Promise<Appender> {
  const appender = appenderOf(log, ref);
  await appendOne(appender, requested(ref));
  for (let i = 1; i <= deltas; i++) await appendOne(appender, delta(`${i} `));
  return appender;
}

export function uniqueName(): string {
  return randomBytes(8).toString("hex");
}

type WorldBehindProxy = Awaited<ReturnType<typeof openWorldBehindProxy>>;

/** A call that begins while the connections of a world are down, which come back then. */
export async function callAway<T>({ proxy, log }: WorldBehindProxy, call: () => Promise<T>): Promise<T> {
  proxy.setFaults({ toClient: { cutAfterBytes: 0 } });
  proxy.cutNow();
  await expect.poll(() => log.connected).toBe(false);
  const called = call();
  proxy.setFaults({});
  return called;
}

/** A checkpoint message: each payload, ended by a LF. */
export function encodeCheckpoint(payloads: readonly Uint8Array[]): Uint8Array {
  return Buffer.concat(payloads.flatMap((payload) => [payload, Buffer.from("\n")]));
}
