import { type GenerationStatus, isTerminal } from "@reprise/protocol/wire";

export type FinalStatus = Extract<GenerationStatus, "completed" | "failed" | "cancelled">;

export function isFinal(status: GenerationStatus): status is FinalStatus {
  return isTerminal(`generation.${status}`);
}
