import type { NewLog } from "@reprise/stream";
import type { GenerationRef, ReaderProtocol } from "@reprise/protocol";
import type { Principal } from "@reprise/tenancy";
import type { ReadingRole } from "../http/auth.ts";
import type { Caller } from "../readers/delivery-marks/caller.ts";

/** Parameters of every answer that is a projection of a generation. */
export interface ProjectedCall {
  readonly ref: GenerationRef;
  /** Names the protocol in delivery marks. */
  readonly protocol: ReaderProtocol;
  readonly caller: Caller;
  readonly principal: Principal;
  readonly role: ReadingRole;
  /** For a create's own answer, so that the log need not be read. */
  readonly begun?: NewLog | undefined;
  /** True if the failure of a generation without content is the answer's HTTP status: the head waits for the first content. Default false. */
  readonly awaitsContent?: boolean | undefined;
}
