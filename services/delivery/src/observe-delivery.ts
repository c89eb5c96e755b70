import type { Hub } from "@reprise/stream";
import type { Metrics } from "@reprise/runtime";
import type { RequestBodies } from "./bodies/request-bodies.ts";
import type { DeliveryMarks } from "./readers/delivery-marks/delivery-marks.ts";
import type { ReaderRegistry } from "./readers/reader-registry.ts";

export interface ObservedDelivery {
  readonly hub: Hub;
  readonly readers: ReaderRegistry;
  readonly marks: DeliveryMarks;
  readonly bodies: RequestBodies;
  /** True if limits are counted on this node alone. */
  readonly isLocal: () => boolean;
}

/** Registers the values that delivery's metrics read at a scrape. */
export function observeDelivery(metrics: Metrics, observed: ObservedDelivery): void {
  const { hub, readers, marks, bodies, isLocal } = observed;
  metrics.observe("reprise_request_bytes", () => bodies.bytes);
  metrics.observe("reprise_limits_local", () => Number(isLocal()));
  metrics.observe("reprise_readers", () => readers.streams);
  metrics.observe("reprise_events_delivered_total", () => readers.eventsDelivered);
  metrics.observe("reprise_readers_fallen_back_total", () => readers.fallenBack);
  metrics.observe("reprise_reader_marks_lost_total", () => marks.lost);
  metrics.observe("reprise_repairs_total", () => hub.stats.repairs);
  metrics.observe("reprise_hub_memory_bytes", () => hub.stats.bytes);
  metrics.observe("reprise_hub_generations", () => hub.stats.caches);
}
