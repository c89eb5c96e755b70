import {
  decodeEvent,
  effectiveRequest,
  type GenerationRequest,
  type MediaMap,
  RepriseError,
  type RequestedEvent,
} from "@reprise/protocol";
import type { RunLog } from "./log/run-log.ts";

/** What an engine is asked, and what its parts name. */
export interface Asked {
  readonly request: GenerationRequest;
  readonly media: MediaMap | undefined;
}

/**
 * The request of a generation that runs. Its bytes are in the log's checkpoint, and nowhere else in the process: one that waits for a
 * tool's result, perhaps for hours, is not parsed meanwhile.
 */
export class RunRequest {
  readonly #log: Pick<RunLog, "first">;
  #parsed: Asked | undefined;

  constructor(log: Pick<RunLog, "first">, parsed: Asked | undefined) {
    this.#log = log;
    this.#parsed = parsed;
  }

  get(): GenerationRequest {
    return this.#asked().request;
  }

  /** What its parts name. */
  media(): MediaMap | undefined {
    return this.#asked().media;
  }

  #asked(): Asked {
    return (this.#parsed ??= parseRequest(this.#log.first()));
  }

  /** Lets go of what was parsed: the next `get` parses it again. */
  release(): void {
    this.#parsed = undefined;
  }
}

function parseRequest(first: Uint8Array): Asked {
  const event = decodeEvent(first);
  if (event.type === "generation.requested") return toAsked(event);
  throw new RepriseError("protocol_violation", "A generation's first event is not its request.");
}

export function toAsked(requested: RequestedEvent): Asked {
  return { request: effectiveRequest(requested), media: requested.media };
}
