import type { ReadSources } from "../../domain/shown-generation.ts";
import type { GenerationLog } from "@reprise/stream";
import { MESSAGE_ID_METADATA } from "@reprise/projections";
import { type GenerationRef, isGenerationId } from "@reprise/protocol";
import type { Principal } from "@reprise/tenancy";
import { endedSinceMs } from "../../domain/ended-since.ts";
import { readRequested } from "../../domain/to-requested.ts";
import { unlessGone } from "../../domain/unless-gone.ts";
import { findThreadRun, type ThreadPorts } from "../../threads/thread-runs.ts";

export interface ChatRunPorts extends ReadSources, ThreadPorts {
  readonly log: GenerationLog;
}

/** The name under which a chat's runs are found. */
export const AI_SDK = "ai-sdk";

/** For how long a chat whose run has ended is answered with that run: a page may have lost its connection shortly before the end. */
const REPLAY_MS = 300_000;

/** A run of a chat. */
export interface ChatRun {
  readonly ref: GenerationRef;
  /** Id of the message that it continues; undefined for a message of its own. */
  readonly messageId: string | undefined;
}

/**
 * Finds the run for a reader that comes back: the generation that it names, or the newest run of a chat, while that is running and shortly afterwards. A run
 * that continued a message is not shown again once it has ended: the page would show that message without its beginning.
 * @returns undefined for a chat that has nothing to show
 * @throws RepriseError as `findThreadRun` does
 */
export async function findShownRun(
  context: ChatRunPorts,
  principal: Principal,
  id: string,
): Promise<ChatRun | undefined> {
  const ref = await findThreadRun(context, principal, { protocol: AI_SDK, id });
  if (isGenerationId(id)) return ref && readRun(context, ref);
  const run = ref && (await readRun(context, ref).catch(unlessGone));
  if (!run) return undefined;
  const endedMs = await endedSinceMs(context, run.ref);
  return endedMs > REPLAY_MS || (endedMs > 0 && run.messageId !== undefined) ? undefined : run;
}

/** @throws RepriseError `generation_not_found`, `generation_expired`, `generation_erased`, `cursor_expired`, `broker_unavailable` */
async function readRun({ log }: ChatRunPorts, ref: GenerationRef): Promise<ChatRun> {
  const { metadata } = (await readRequested(log, ref)).request;
  return { ref, messageId: metadata?.[MESSAGE_ID_METADATA] };
}
