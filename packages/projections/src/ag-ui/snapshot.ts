import type { KnownEvent, UnknownEvent } from "@reprise/protocol";
import type { Frame, ProjectedRun } from "../projection.ts";
import type { AgUiEvent } from "./events.ts";
import { beginRun, foldRun, reopenEvents, type RunState, runStarted } from "./fold.ts";
import { type AgUiState, toFrame } from "./project.ts";
import { isOfRun, toRunNames } from "./run-names.ts";
import { type Said, say, toMessages, unsay } from "./said.ts";

/** What a run has said by now; what restarts have taken back is not in it. */
export interface SoFar {
  /** Of a reader for whom restarts end nothing. */
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

/** How often text that was shown did not count any more. */
export function restartsOf({ run }: SoFar): number {
  return run.restarts;
}

/**
 * What a reader that comes late is sent in place of the frames so far: the run's start, all messages, and again the start of what is open; of a run that
 * has ended, its end too. The frames behind go on from there.
 * @param state of the reader's projection, behind the same event as what was said so far
 * @param history the messages that the reader has, by its own word; those that it has of this run are replaced. A snapshot replaces all that a client has
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
