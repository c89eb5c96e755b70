import type { Broker } from "@reprise/broker";
import { PATIENCE_MS } from "@reprise/testkit";

type Connection = Broker["main"];

/**
 * A connection whose requests wait for longer than they say: that one was answered late, on a busy machine, has no consequences.
 * What is asked while nothing is wrong is answered, and in no time; but the process that asks may be asleep until then.
 */
export function createPatientConnection(connection: Connection): Connection {
  const request: Connection["request"] = (subject, payload, options) =>
    connection.request(subject, payload, { ...options, timeout: PATIENCE_MS });
  return new Proxy(connection, {
    get(target, property) {
      if (property === "request") return request;
      const value: unknown = Reflect.get(target, property, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}
