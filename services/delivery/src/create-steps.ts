import { admit } from "./create/admit.ts";
import { createGenerations, type CreatePorts } from "./create/create-generation.ts";
import { identify } from "./create/identify.ts";
import { external } from "./create/external.ts";
import { check, fetchUrls, prepare } from "./create/prepare.ts";
import { reserve, reserveRest } from "./create/reserve.ts";
import type { Step } from "./create/run-steps.ts";
import { announce, begin, encode, enqueue, store } from "./create/store.ts";
import { type Creates, refuseTurn, type Turns } from "./create/turns.ts";

type PortsOf<Make extends (ports: never) => unknown> = Parameters<Make>[0];
type CreateStepPorts = PortsOf<typeof identify> &
  PortsOf<typeof admit> &
  PortsOf<typeof reserve> &
  PortsOf<typeof prepare> &
  PortsOf<typeof check> &
  PortsOf<typeof announce> &
  PortsOf<typeof store> &
  PortsOf<typeof enqueue> &
  PortsOf<typeof begin> & {
    /** Undefined: this node has no conversations. */
    readonly turns: Turns | undefined;
  };

/**
 * Lists what a create does, in order; steps of extensions that the node does not have are left out. If a step before `enqueue` fails, the steps before it are
 * undone in reverse order.
 */
function createSteps({ turns, ...ports }: CreateStepPorts): readonly Step[] {
  const steps = [
    identify(ports),
    turns?.own ?? refuseTurn,
    admit(ports),
    reserve(ports),
    prepare(ports),
    turns?.place,
    check(ports),
    encode(ports),
    reserveRest(ports),
    ports.blobs && fetchUrls(ports.blobs),
    store(ports),
    turns?.claim,
    announce(ports),
    enqueue(ports),
    begin(ports),
  ];
  return steps.filter((step) => step !== undefined);
}

/** Steps about engines: what they can do, and what they have to be given. */
const ENGINE_STEPS: ReadonlySet<string> = new Set(["check", "fetch"]);

/**
 * Lists what the create of a generation does that a producer writes: the same steps without those about engines. Its job is one that no worker takes:
 * reapers, backups and erasures find generations that run by their jobs.
 */
function toExternal(steps: readonly Step[]): readonly Step[] {
  return [external, ...steps.filter(({ name }) => !ENGINE_STEPS.has(name))];
}

/** Composes the creates of this node. */
export function openCreates(ports: CreateStepPorts & CreatePorts): Creates {
  const steps = createSteps(ports);
  const create = createGenerations(ports, steps, toExternal(steps));
  return ports.turns?.wrap(create) ?? { create, [Symbol.asyncDispose]: async () => {} };
}
