import { RepriseError } from "@reprise/protocol";
import { generationErased } from "../../read/expired-or-erased.ts";

/** Why the hub does not serve a cache, or no longer: what its readers are told. */
export const HUB_FAILURE = {
  /** It had no readers for a while, or memory ran short; the next reader opens a new one. */
  dropped: new RepriseError("broker_unavailable", "This node no longer keeps the generation in memory.", {
    retryAfterMs: 0,
  }),
  /** Its turn did not come in time: too many others are being opened. */
  busy: new RepriseError("broker_unavailable", "This node is busy reading other generations.", {
    retryAfterMs: 1_000,
  }),
  draining: new RepriseError("draining", "This node is shutting down."),
  /** The store has forgotten what it had acknowledged and readers have seen; the next reader makes a new cache. */
  lost: new RepriseError(
    "events_lost",
    "The broker has lost events of this generation that were sent already. Read it again without a cursor.",
  ),
  erased: generationErased(),
  /** Only a foreign client of the broker writes such a message: no event after it can be trusted to be the platform's. */
  malformed: new RepriseError(
    "protocol_violation",
    "The log of this generation holds a message that is no event at its place.",
  ),
  /** Stream and republish disagree for longer than any replica lags. */
  hole: new RepriseError("broker_unavailable", "The log does not show events that the live feed did."),
} as const;
