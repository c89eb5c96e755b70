import type { NodeId } from "@reprise/protocol";
import type { Logger } from "@reprise/runtime";
import type { GenerationLog } from "@reprise/stream";
import type { TenantDirectory } from "@reprise/tenancy";
import type { Callers } from "../http/open-callers.ts";
import { DeliveryMarks } from "./delivery-marks/delivery-marks.ts";
import { ReaderRegistry } from "./reader-registry.ts";

export interface ReadersOptions extends Pick<Callers, "authentication" | "platformKeys"> {
  readonly publish: GenerationLog["publish"];
  readonly node: NodeId;
  readonly tenants: Pick<TenantDirectory, "onChange">;
  readonly readerLeaseMs?: number | undefined;
  readonly heartbeatMs?: number | undefined;
  readonly logger: Logger;
  readonly onError: (error: unknown) => void;
}

export interface NodeReaders extends Disposable {
  readonly readers: ReaderRegistry;
  readonly marks: DeliveryMarks;
}

/** Breaks off readers whose tenant or key changes, until it is disposed of. The registry itself is drained and closed by its caller. */
export function openReaders(options: ReadersOptions): NodeReaders {
  const { publish, node, tenants, authentication, platformKeys, logger, onError } = options;
  const marks = new DeliveryMarks({
    publish,
    node,
    onLost: (count) =>
      logger.warn({ marks: count }, "dropped delivery marks: the broker was away for too long"),
    onError,
  });
  const readers = new ReaderRegistry({
    renew: (principal, role) => authentication.renewReader(principal, role),
    presence: { publish, node, leaseMs: options.readerLeaseMs, onError },
    marks,
    heartbeatMs: options.heartbeatMs,
  });
  const stops = [
    tenants.onChange((tenant) => readers.recheck(tenant)),
    platformKeys.onChange(() => readers.recheck()),
  ];
  const dispose = () => {
    for (const stop of stops) stop();
  };
  return { readers, marks, [Symbol.dispose]: dispose };
}
