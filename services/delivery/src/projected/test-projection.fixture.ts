import type { Frame, Projection } from "@reprise/projections";
import { isTerminal, textOf } from "@reprise/protocol";

/** State of these tests' projection. */
export interface EchoState {
  readonly text: string;
  readonly ended: boolean;
}

/**
 * A small protocol: nothing for an event without text, two frames for one with text, the second with how much there is by now, and two for the end.
 */
export const echo: Projection<EchoState> = {
  name: "echo",
  begin: () => ({ text: "", ended: false }),
  project(state, event) {
    if (isTerminal(event.type))
      return { state: { ...state, ended: true }, frames: [named("end", state.text), { data: "[DONE]" }] };
    if (event.type !== "output.delta") return { state, frames: [] };
    const text = state.text + textOf(event);
    return {
      state: { ...state, text },
      frames: [named("delta", textOf(event)), named("length", `${text.length}`)],
    };
  },
  hasEnded: ({ ended }) => ended,
};

function named(event: string, value: string): Frame {
  return { event, data: JSON.stringify(value) };
}
