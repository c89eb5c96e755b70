import type { DeliveryMark } from "@reprise/protocol";
import { connectionRow, type DeliveryRow, type RecordPlace } from "./delivery-row.ts";

/** A connection that is not over, as its marks say so far. */
export interface EncodedConnection {
  readonly place: RecordPlace;
  /** Without what no row has: whose it was, and what was withdrawn. */
  readonly mark: DeliveryMark;
}

/** @param mark not a last one */
export function encodeConnection(place: RecordPlace, mark: DeliveryMark): EncodedConnection {
  const { withdrawn: _, ...kept } = mark;
  return { place, mark: { ...kept, by: "" } };
}

/** A connection whose node has died, so that no last mark comes. */
export function lostConnectionRow({ place, mark }: EncodedConnection): DeliveryRow {
  return connectionRow(place, mark);
}
