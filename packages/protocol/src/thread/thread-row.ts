import * as z from "zod";
import { type GenerationId, isGenerationId } from "../id.ts";
import type { UnixMs } from "../unix-ms.ts";

/* What THREADS holds: one JSON object under each subject. A row has no text and no name of a person; one of another version is left alone. */

const threadRowSchema = z.object({
  version: z.literal(1),
  /** The run that was begun last. */
  generation: z.custom<GenerationId>(isGenerationId),
  /** When this run was requested. */
  requested_at_ms: z.custom<UnixMs>(Number.isSafeInteger),
});

export type ThreadRow = z.infer<typeof threadRowSchema>;

/** Undefined for what is no row of THREADS. */
export function decodeThreadRow(payload: Uint8Array): ThreadRow | undefined {
  try {
    return threadRowSchema.safeParse(JSON.parse(new TextDecoder().decode(payload))).data;
  } catch {
    return undefined;
  }
}

export function encodeThreadRow(row: ThreadRow): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(row));
}
