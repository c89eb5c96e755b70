import type { FinishReason, GenerationRef, GenerationRequest, TerminalType } from "@reprise/protocol";
import type { Tenant } from "../world/tenant.ts";
import type { Undisturbed } from "./undisturbed.ts";

/** A generation that a trial has created, and what must become of it. */
export interface TestedGeneration {
  readonly id: string;
  readonly ref: GenerationRef;
  readonly tenant: Tenant;
  readonly request: GenerationRequest;
  /** The engine's text in an undisturbed run. */
  readonly undisturbed: Undisturbed;
  /** All of that as moderation lets it be shown. */
  readonly wholeText: string;
  /** The ends that the fault permits. One that is not `generation.completed` may have a part of the text. */
  readonly mayEnd: readonly TerminalType[];
  /** A finish reason besides the undisturbed run's own that the fault permits, with a part of the text. */
  readonly mayFinish: FinishReason | undefined;
}
