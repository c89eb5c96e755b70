import { toLineJson } from "@reprise/protocol";
import type { Frame, Projection } from "../projection.ts";
import { isEnd } from "./ends.ts";
import type { AgUiEvent } from "./events.ts";
import { beginRun, foldRun, type RunState } from "./fold.ts";
import { toRunNames } from "./run-names.ts";

export interface AgUiState {
  readonly run: RunState;
  /** The run's end, once it was told. */
  readonly end: AgUiEvent | undefined;
}

export interface AgUiOptions {
  /** The request's: it names the run as its client does. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  /** Number of restarts before the reader joined: they do not end the run for it. Default 0. */
  readonly passes?: number;
}

/** A generation as AG-UI's events. */
export function agUiProjection({ metadata, passes = 0 }: AgUiOptions = {}): Projection<AgUiState> {
  return {
    name: passes === 0 ? "ag-ui" : `ag-ui+${passes}`,
    isTextless: true,
    begin: (run) => ({ run: beginRun(toRunNames(run, metadata), passes), end: undefined }),
    project(before, event) {
      const { state: run, events } = foldRun(before.run, event);
      const last = events.at(-1);
      const state: AgUiState = { run, end: last && isEnd(last) ? last : before.end };
      return { state, frames: events.map(toFrame) };
    },
    hasEnded: ({ run }) => run.hasEnded,
  };
}

export function toFrame(event: AgUiEvent): Frame {
  return { data: toLineJson(event) };
}
