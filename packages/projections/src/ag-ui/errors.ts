import type { RepriseError } from "@reprise/protocol";
import type { Frame } from "../projection.ts";
import { toFrame } from "./project.ts";

/**
 * Frames for an error in a stream after which no frames follow. Before a stream begins, the answer is the platform's own JSON body: AG-UI's and
 * TanStack's clients define no error body.
 */
export function toRunErrorFrames({ code, message }: RepriseError): readonly Frame[] {
  return [toFrame({ type: "RUN_ERROR", code, message })];
}
