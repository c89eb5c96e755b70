import type { DeliveryRow } from "@reprise/metering";
import { createFactTable } from "./fact-table.ts";

/** One row for each connection that has ended, each attempt of a worker, and each report of a client: what OPS says of how a generation reached its readers. */
export const DELIVERIES = createFactTable<DeliveryRow>("deliveries", {
  tenant: "text",
  generation: "text",
  kind: "text",
  recorded_us: "integer",
  reader: "text?",
  protocol: "text?",
  from_seq: "integer?",
  seq: "integer?",
  known_seq: "integer?",
  started_us: "integer?",
  ended_us: "integer?",
  is_finished: "boolean?",
  first_received_us: "integer?",
  first_shown_us: "integer?",
  first_sent_us: "integer?",
  gaps: "text?",
  attempt: "integer?",
  engine_first_us: "integer?",
  append_us: "integer?",
  round_trip_us: "integer?",
  first_text_us: "integer?",
  longest_gap_us: "integer?",
  reconnects: "integer?",
});
