import type { Broker, ServiceUser } from "@reprise/log";
import { KEPT_TRACES_SUBJECT } from "@reprise/protocol";
import type { Tracing } from "@reprise/telemetry";

const TRACE_ID = /^[0-9a-f]{32}$/;

const LISTENERS: ReadonlySet<ServiceUser> = new Set(["delivery", "moderation"]);

/**
 * Workers tell delivery and moderation of traces that are exported because of their outcome, so that their spans of them are exported, too. A message that is lost costs these.
 * @returns how to stop that
 */
export function shareKeptTraces(
  name: ServiceUser,
  tracing: Tracing,
  { main: connection }: Pick<Broker, "main">,
): Disposable {
  const stack = new DisposableStack();
  if (tracing.isOn && name === "inference-worker")
    stack.defer(
      tracing.onKept((traceId) => {
        // It may close before its last span has ended.
        if (!connection.isClosed()) connection.publish(KEPT_TRACES_SUBJECT, traceId);
      }),
    );
  if (tracing.isOn && LISTENERS.has(name)) {
    const subscription = connection.subscribe(KEPT_TRACES_SUBJECT, {
      callback(_error, msg) {
        const traceId = msg.string();
        if (TRACE_ID.test(traceId)) tracing.keep(traceId);
      },
    });
    stack.defer(() => subscription.unsubscribe());
  }
  return stack;
}
