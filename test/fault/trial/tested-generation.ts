import type { GenerationRef, GenerationRequest, TerminalType } from "@reprise/protocol";
import type { Tenant } from "../world/tenant.ts";

/** A generation that a trial has created, and what must become of it. */
export interface TestedGeneration {
  readonly id: string;
  readonly ref: GenerationRef;
  readonly tenant: Tenant;
  readonly request: GenerationRequest;
  /** All that the engine would say if nobody disturbed it, as moderation lets it be shown. */
  readonly wholeText: string;
  /** The ends that the fault permits. One that is not `generation.completed` may have a part of the text. */
  readonly mayEnd: readonly TerminalType[];
}
