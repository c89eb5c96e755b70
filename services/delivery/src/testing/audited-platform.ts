import { jetstreamManager } from "@nats-io/jetstream";
import { readStreamMessages } from "@reprise/broker";
import { logErasure } from "@reprise/stream";
import {
  checkpointSubject,
  decodeOpsRecord,
  type GenerationRef,
  logSubject,
  OPS_STREAM,
  type OpsRecord,
  parseOpsSubject,
  streamOf,
  asStreamSeq,
} from "@reprise/protocol";
import { type FakeAuditLog, startFakeAuditLog } from "./fake-audit-log.ts";
import { type NodeOptions, openPlatform, type Platform } from "./platform.ts";

export interface AuditedPlatform extends Platform {
  readonly audit: FakeAuditLog;
}

export async function openAuditedPlatform(options: NodeOptions = {}): Promise<AuditedPlatform> {
  await using stack = new AsyncDisposableStack();
  const platform = stack.use(await openPlatform(options));
  const audit = stack.use(startFakeAuditLog(platform));
  const owned = stack.move();
  return Object.assign(platform, { audit, [Symbol.asyncDispose]: () => owned.disposeAsync() });
}

/** Takes the live log away, as retention does in the end: nothing says that there was one. */
export async function forget({ broker }: Platform, ref: GenerationRef): Promise<void> {
  const manager = await jetstreamManager(broker.main);
  await manager.streams.purge(streamOf(ref.generation), { filter: logSubject(ref) });
}

/** Takes only its oldest events away. */
export async function forgetBeginning({ broker }: Platform, ref: GenerationRef): Promise<void> {
  const manager = await jetstreamManager(broker.main);
  await manager.streams.purge(streamOf(ref.generation), { filter: logSubject(ref), keep: 2 });
}

/** Takes it away as its age does at first: a marker says that there was one. */
export async function expire(platform: Platform, ref: GenerationRef): Promise<void> {
  await forget(platform, ref);
  await platform.log.publishCheckpoint(checkpointSubject(ref), new Uint8Array(), {});
}

/** Takes the live log away as an erasure does. */
export async function purge({ broker, log }: Platform, ref: GenerationRef): Promise<void> {
  await logErasure.purgeGeneration({ broker, log, ref });
}

export interface Access {
  readonly tenant: string;
  readonly generation: string | undefined;
  readonly record: OpsRecord | undefined;
}

/** The recorded accesses, in their order. */
export async function readAccesses({ broker }: Platform): Promise<Access[]> {
  const batch = {
    afterStreamSeq: asStreamSeq(0),
    maxMessages: 1_000,
    maxBytes: 1_000_000,
    subject: "ops.*.access.*",
  };
  const messages = await readStreamMessages(broker.reads, OPS_STREAM, batch);
  return messages.map(({ subject, payload }) => {
    const { tenant, generation } = parseOpsSubject(subject);
    return { tenant, generation, record: decodeOpsRecord(payload) };
  });
}
