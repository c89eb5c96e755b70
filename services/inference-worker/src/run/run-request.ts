import * as conversations from "@reprise/conversations";
import {
  decodeEvent,
  effectiveRequest,
  type GenerationRequest,
  type MediaMap,
  type Prompt,
  RepriseError,
  type RequestedEvent,
  type TenantId,
} from "@reprise/protocol";
import type { RunLog } from "./log/run-log.ts";

/** The request for an engine, and its media. */
export interface Asked {
  readonly request: GenerationRequest;
  readonly media: MediaMap | undefined;
}

/**
 * The request of a generation that runs. Its bytes are in the log's checkpoint, and nowhere else in the process: one that waits for a
 * tool's result, perhaps for hours, is not parsed meanwhile. But for the prompt of a turn that has waited for others, or of which something was withdrawn:
 * it is held as it was made, and counts to no limit of the process.
 */
export class RunRequest {
  readonly #log: Pick<RunLog, "first">;
  #parsed: Asked | undefined;
  /** In the place of the stored one: made when the turns had ended that this one has waited for, or without what was withdrawn since. */
  #prompt: Prompt | undefined;

  constructor(log: Pick<RunLog, "first">, parsed: Asked | undefined, prompt?: Prompt) {
    this.#log = log;
    this.#parsed = parsed;
    this.#prompt = prompt;
  }

  get(): GenerationRequest {
    return this.#asked().request;
  }

  /** Returns the media that its parts name. */
  media(): MediaMap | undefined {
    return this.#asked().media;
  }

  #asked(): Asked {
    return (this.#parsed ??= toAsked(this.#requested()));
  }

  /** Lets go of what was parsed: the next `get` parses it again. */
  release(): void {
    this.#parsed = undefined;
  }

  /**
   * Takes out of the prompt what was withdrawn of earlier turns since it was made: to be called before each request to the engine.
   * @throws RepriseError as `verifyPrompt`
   */
  async verify(log: conversations.CurrentLogs, tenant: TenantId): Promise<void> {
    if (this.#parsed && this.#parsed.request.conversation === undefined) return;
    const requested = this.#requested();
    const { prompt } = requested;
    const verified = prompt && (await conversations.verifyPrompt(log, tenant, prompt));
    if (verified !== prompt) this.#prompt = verified;
    this.#parsed = toAsked({ ...requested, prompt: verified });
  }

  #requested(): RequestedEvent {
    const event = decodeEvent(this.#log.first());
    if (event.type !== "generation.requested")
      throw new RepriseError("protocol_violation", "A generation's first event is not its request.");
    return this.#prompt ? { ...event, prompt: this.#prompt } : event;
  }
}

export function toAsked(requested: RequestedEvent): Asked {
  return { request: effectiveRequest(requested), media: requested.media };
}
