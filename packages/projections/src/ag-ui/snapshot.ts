import type { KnownEvent, UnknownEvent } from "@reprise/protocol";
import type { Frame, ProjectedRun } from "../projection.ts";
import type { AgUiEvent } from "./events.ts";
import { beginRun, foldRun, reopenEvents, type RunState, runStarted } from "./fold.ts";
import { type AgUiState, toFrame } from "./project.ts";
import { isOfRun, toRunNames } from "./run-names.ts";
import { type Said, say, toMessages, unsay } from "./said.ts";

/** The content of a run so far, without the text that restarts have retracted. */
export interface SoFar {
  /** State for a reader whose run does not end at a restart. */
  readonly run: RunState;
  readonly said: Said;
}

/** Folds what late readers are told at once. @param metadata the request's */
export function agUiSoFar(metadata: Readonly<Record<string, string>> | undefined) {
  return {
    name: "ag-ui so far",
    begin: (run: ProjectedRun): SoFar => ({
      run: beginRun(toRunNames(run, metadata), Number.POSITIVE_INFINITY),
      said: undefined,
    }),
    project(before: SoFar, event: KnownEvent | UnknownEvent): { readonly state: SoFar } {
      const { state: run, events } = foldRun(before.run, event);
      const kept = event.type === "output.rewind" ? unsay(before.said, event.to_seq) : before.said;
      return { state: { run, said: say(kept, event.seq, events) } };
    },
  };
}

/** Number of times that shown text was invalidated. */
export function restartsOf({ run }: SoFar): number {
  return run.restarts;
}

/**
 * Frames for a late reader, in place of all frames so far: the run's start, all messages, and again the start of each open message; if the run has ended,
 * its end too. Later frames continue from there.
 * @param state of the reader's projection, after the same event as the content so far
 * @param history the messages that the reader says it has; those of this run are replaced. A snapshot replaces all messages of a client
 */
export function snapshotFrames(
  { run, end }: AgUiState,
  { said }: SoFar,
  history: readonly { readonly id: string }[],
): readonly Frame[] {
  // The run's first frames are still to come.
  if (!run.hasBegun) return [];
  const before = history.filter(({ id }) => !isOfRun(run.names, id));
  const events: readonly AgUiEvent[] = [
    runStarted(run.names),
    { type: "MESSAGES_SNAPSHOT", messages: [...before, ...toMessages(said)] },
    ...(end ? [end] : reopenEvents(run)),
  ];
  return events.map(toFrame);
}
