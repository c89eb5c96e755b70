import type { Logger } from "@reprise/runtime";
import { type TurnSteps, turnSteps } from "./conversations/turn-steps.ts";
import { type SummarizedCreates, withSummaries } from "./conversations/make-summaries.ts";
import { admit } from "./create/admit.ts";
import { createGenerations, type CreatePorts } from "./create/create-generation.ts";
import { identify } from "./create/identify.ts";
import { check, fetchUrls, prepare } from "./create/prepare.ts";
import { reserve, reserveRest } from "./create/reserve.ts";
import type { Step } from "./create/run-steps.ts";
import { announce, begin, encode, enqueue, store } from "./create/store.ts";

type PortsOf<Make extends (ports: never) => unknown> = Parameters<Make>[0];

type CreateStepPorts = PortsOf<typeof identify> &
  PortsOf<typeof admit> &
  PortsOf<typeof reserve> &
  PortsOf<typeof prepare> &
  PortsOf<typeof check> &
  PortsOf<typeof fetchUrls> &
  PortsOf<typeof announce> &
  PortsOf<typeof store> &
  PortsOf<typeof enqueue> &
  PortsOf<typeof begin>;

/** Lists what a create does, in order. If a step before `enqueue` fails, the steps before it are undone in reverse order. */
function createSteps(ports: CreateStepPorts, turns: TurnSteps): readonly Step[] {
  return [
    identify(ports),
    turns.own,
    admit(ports),
    reserve(ports),
    prepare(ports),
    turns.place,
    check(ports),
    encode(ports),
    reserveRest(ports),
    fetchUrls(ports),
    store(ports),
    turns.claim,
    announce(ports),
    enqueue(ports),
    begin(ports),
  ];
}

/** Composes the creates of this node. */
export function openCreates(
  ports: CreateStepPorts & CreatePorts & PortsOf<typeof turnSteps> & { readonly logger: Logger },
): SummarizedCreates {
  const turns = turnSteps(ports);
  const create = createGenerations(ports, createSteps(ports, turns));
  return withSummaries(create, { turns, rows: ports.conversations.rows, logger: ports.logger });
}
