import type { EngineEvent } from "../engine.ts";

export interface Collected {
  readonly events: EngineEvent[];
  /** The text events, joined. */
  readonly text: string;
  /** The error that the iteration threw, if any. */
  readonly error: unknown;
}

/** Runs a generation to its end, of any kind. */
export async function collect(events: AsyncIterable<EngineEvent>): Promise<Collected> {
  const seen: EngineEvent[] = [];
  let error: unknown;
  try {
    for await (const event of events) seen.push(event);
  } catch (thrown) {
    error = thrown;
  }
  const text = seen.map((event) => (event.type === "text" ? event.text : "")).join("");
  return { events: seen, text, error };
}
