import type { PlacesByStream } from "@reprise/archive";
import { waitAtMost } from "@reprise/async";
import { holdLeases } from "@reprise/jobs";
import { logErasure } from "@reprise/stream";
import { LEASE_GROUPS, parseTenantId, type UnixMs, unixNow } from "@reprise/protocol";
import type { AuditRetention } from "@reprise/tenancy";
import { SHUTDOWN_MS } from "@reprise/facts/lane";
import { sweepCopies } from "../../copies/sweep-copies.ts";
import { compact } from "./compaction.ts";
import { DeletedConversations } from "./deleted-conversations.ts";
import { type Erasure, erasuresIn, openErasures } from "../../records/erasures.ts";
import { clearFiles, type FinishOptions, finishErasure } from "../erasure/finish-erasure.ts";
import type { LifecycleContext } from "../lifecycle-context.ts";
import { purgeAll, toRef } from "../erasure/live-generations.ts";
import { nextCompaction } from "./next-compaction.ts";
import { requestDraft } from "../../records/request-draft.ts";
import { deleteExpired } from "./retention.ts";
import { Sweeper } from "./sweep.ts";
import { eraseUnnamed } from "./unnamed-files.ts";

export interface MaintenanceOptions extends LifecycleContext, Pick<FinishOptions, "settleMs"> {
  /** Returns the retention of each tenant; called in every round. */
  readonly tenants: () => readonly { readonly id: string; readonly audit: AuditRetention }[];
  /** This process. No other has this name. */
  readonly holder: string;
  /** Between two rounds. Default one minute. */
  readonly intervalMs?: number;
  /** Between two rounds that also delete what is too old, and sweep. Default one hour. */
  readonly thoroughMs?: number;
  /** Time for which files are kept that no commit names. Default a day. */
  readonly graceMs?: number;
  /** Time that closing, and handing over to another process, wait for the active round. Default 5 s. */
  readonly closeMs?: number;
  /** Called with what has gone wrong, which the next round tries again. */
  readonly onError: (error: unknown) => void;
  /** Milliseconds since 1970. */
  readonly now?: () => UnixMs;
}

export interface Maintenance {
  /** One thorough round, after the one that runs. */
  run(): Promise<void>;
  /** Ends the round that runs. One that the store does not let end is left to itself: the next process does what it was about. */
  close(): Promise<void>;
}

const INTERVAL_MS = 60_000;
const THOROUGH_MS = 3_600_000;
/** Time for the process that began an erasure to finish it. */
const ABANDONED_MS = 120_000;
/** Time for which erased generations are checked again: a process that slept may have written data late. */
const WATCHED_MS = 3_600_000;
/** Compactions of one tenant in one round. */
const MOST_COMPACTIONS = 16;
const GROUP = LEASE_GROUPS.maintenance;
const LEASE = "rounds";

/**
 * Keeps an archive in order: finishes erasures, deletes what is too old, merges small files, sweeps. Of several processes one does it at a time:
 * a round whose lease goes begins no further step. Should two of them do it, one of their commits is fenced.
 */
export function startMaintenance(options: MaintenanceOptions): Maintenance {
  const { live, holder, onError } = options;
  const { intervalMs = INTERVAL_MS, thoroughMs = THOROUGH_MS, closeMs = SHUTDOWN_MS } = options;
  const sweeper = new Sweeper(options);
  const deleted = new DeletedConversations();
  const stopping = new AbortController();
  /** Aborted when the round that runs is another process's to do. */
  let leaving = new AbortController();
  let isOurs = live === undefined;
  let running: Promise<void> | undefined;
  let thoroughAt = Number.NEGATIVE_INFINITY;
  const begin = (isThorough: boolean) => {
    if (isThorough) thoroughAt = performance.now();
    leaving = new AbortController();
    const signal = AbortSignal.any([stopping.signal, leaving.signal]);
    return (running = runRound({ ...options, sweeper, deleted, signal, isThorough }).finally(() => {
      running = undefined;
    }));
  };
  const leases =
    live &&
    holdLeases({
      broker: live.broker,
      publish: live.log.publish,
      group: GROUP,
      names: [LEASE],
      holder,
      onGained: () => (isOurs = true),
      onLost: async () => {
        isOurs = false;
        leaving.abort();
        await waitAtMost(closeMs, running);
      },
      onError,
    });
  const timer = setInterval(() => {
    if (isOurs && !running) void begin(performance.now() - thoroughAt >= thoroughMs);
  }, intervalMs);
  return {
    async run() {
      while (running) await running;
      await begin(true);
    },
    async close() {
      clearInterval(timer);
      stopping.abort();
      await Promise.all([waitAtMost(closeMs, running), leases?.close()]);
    },
  };
}

interface Round extends MaintenanceOptions {
  readonly sweeper: Sweeper;
  readonly deleted: DeletedConversations;
  readonly signal: AbortSignal;
  readonly isThorough: boolean;
}

/** Each step is tried, also after others have failed. */
async function runRound(options: Round): Promise<void> {
  const { archive, tenants, sweeper, deleted, signal, isThorough, onError, now = unixNow } = options;
  const attempt = async (work: () => Promise<unknown>) => {
    if (signal.aborted) return;
    try {
      await work();
    } catch (error) {
      if (!signal.aborted) onError(error);
    }
  };
  await attempt(() => archive.refresh());
  for (const { tenant, erasure } of openErasures(archive.state)) {
    if (Date.parse(erasure.at) < now() - ABANDONED_MS)
      await attempt(() =>
        finishErasure({ ...options, onDamaged: onError }, parseTenantId(tenant), erasure, options),
      );
  }
  const minDaysOf = (tenant: string) => tenants().find(({ id }) => id === tenant)?.audit.minDays;
  const erasing = { ...options, onDamaged: onError };
  if (isThorough) deleted.forget();
  await attempt(() => deleted.erase(erasing, minDaysOf, { ...options, onError }));
  for (const tenant of archive.state.tenants()) {
    const done = erasuresIn(archive.state.records(tenant)).filter(({ doneAt }) => doneAt !== undefined);
    const recent = done.filter((one) => isRecent(one, now()));
    for (const erasure of recent) await attempt(() => purgeAgain(options, tenant, erasure));
    if (recent.length > 0 || (isThorough && done.length > 0))
      await attempt(() => eraseUnnamed({ ...options, onDamaged: onError }, tenant, done));
  }
  for (const { id, audit } of isThorough ? tenants() : []) {
    const { maxDays } = audit;
    if (maxDays !== undefined) await attempt(() => deleteExpired(options, id, { maxDays, nowMs: now() }));
  }
  for (const tenant of archive.state.tenants()) await attempt(() => compactAll(options, tenant));
  if (isThorough) await attempt(() => sweeper.sweep(now()));
  if (isThorough) await attempt(() => sweepCopies(options));
}

function isRecent({ doneAt }: Erasure, nowMs: UnixMs): boolean {
  return doneAt !== undefined && Date.parse(doneAt) > nowMs - WATCHED_MS;
}

async function purgeAgain({ archive, live, signal }: Round, tenant: string, erasure: Erasure): Promise<void> {
  const refs = erasure.generations.map((id) => toRef(parseTenantId(tenant), id));
  const at = new Date().toISOString();
  if (!live) return;
  const record = (purged: PlacesByStream) =>
    archive.append((state) => requestDraft(state, tenant, erasure, { purged, at }), { signal });
  await purgeAll(live, refs, record);
  // What was purged again, or before by a process that died.
  if ((await logErasure.readTextIntervals(live.broker, refs)).length > 0)
    await clearFiles(live, refs, record);
}

async function compactAll(options: Round, tenant: string): Promise<void> {
  const { archive, signal, now = unixNow } = options;
  for (let i = 0; i < MOST_COMPACTIONS && !signal.aborted; i++) {
    const next = nextCompaction(archive.state.files(tenant), now());
    if (!next) return;
    await compact(options, tenant, next);
  }
}
