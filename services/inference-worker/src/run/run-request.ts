import { decodeEvent, effectiveRequest, type GenerationRequest, RepriseError } from "@reprise/protocol";
import type { RunLog } from "./log/run-log.ts";

/**
 * The request of a generation that runs. Its bytes are in the log's checkpoint, and nowhere else in the process: one that waits for a
 * tool's result, perhaps for hours, is not parsed meanwhile.
 */
export class RunRequest {
  readonly #log: Pick<RunLog, "first">;
  #parsed: GenerationRequest | undefined;

  constructor(log: Pick<RunLog, "first">, parsed: GenerationRequest | undefined) {
    this.#log = log;
    this.#parsed = parsed;
  }

  get(): GenerationRequest {
    return (this.#parsed ??= parseRequest(this.#log.first()));
  }

  /** Lets go of what was parsed: the next `get` parses it again. */
  release(): void {
    this.#parsed = undefined;
  }
}

function parseRequest(first: Uint8Array): GenerationRequest {
  const event = decodeEvent(first);
  if (event.type === "generation.requested") return effectiveRequest(event);
  throw new RepriseError("protocol_violation", "A generation's first event is not its request.");
}
