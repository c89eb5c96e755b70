import type { ProjectedRun } from "../projection.ts";

/** Pairs of a request's metadata that say what its client calls the run. They are part of seq 0, so every node gives a run the same names. */
export const THREAD_ID_METADATA = "ag_ui.thread_id";
export const RUN_ID_METADATA = "ag_ui.run_id";

/** Names of a run and its messages in its events. */
export interface RunNames {
  readonly threadId: string;
  readonly runId: string;
  readonly model: string;
  /** Prefix of message ids: it makes them unique among the messages of all runs. */
  readonly prefix: string;
}

/** A generation that was not created by these protocols is named by its own id. */
export function toRunNames(
  { generation, model }: ProjectedRun,
  metadata: Readonly<Record<string, string>> = {},
): RunNames {
  return {
    threadId: metadata[THREAD_ID_METADATA] ?? generation,
    runId: metadata[RUN_ID_METADATA] ?? generation,
    model,
    prefix: generation.replace(/^gen_/, ""),
  };
}

/** The assistant's message of a turn. */
export function messageId({ prefix }: RunNames, turn: number): string {
  return `msg_${prefix}_${turn}`;
}

export function reasoningId({ prefix }: RunNames, index: number): string {
  return `rsn_${prefix}_${index}`;
}

/** True if a message's id was made for this run. */
export function isOfRun({ prefix }: RunNames, id: string): boolean {
  return /^(msg|rsn|tool)_/.test(id) && id.slice(id.indexOf("_") + 1).startsWith(`${prefix}_`);
}
