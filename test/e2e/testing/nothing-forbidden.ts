import type { ServiceProcess } from "@reprise/testkit";

/** @throws Error when the broker has refused something to a service: its user's permissions lack what the service needs */
export function assertNothingForbidden(services: readonly ServiceProcess[]): void {
  const lines = services.flatMap((service) => service.lines);
  const forbidden = lines.filter(({ msg }) => msg === "the broker refuses this to this process's user");
  if (forbidden.length > 0) throw new Error(`Forbidden to services: ${JSON.stringify(forbidden)}`);
}
