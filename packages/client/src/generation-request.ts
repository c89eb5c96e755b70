import type { GenerationRequest as Parsed } from "@reprise/protocol/wire";

/** A request as an app writes it: its ids are the strings that the platform has answered with. */
export type GenerationRequest = Omit<Parsed, "conversation" | "previous_generation"> & {
  /** Whose next turn it is: its model is given what was said before, and then `input`. */
  conversation?: string | undefined;
  /** The turn of the conversation that this request follows. Default: the last. */
  previous_generation?: string | undefined;
};
