import { parseTenantId, slotsSubject } from "@reprise/protocol";
import { eventually } from "@reprise/testkit";
import { expect, test, vi } from "vitest";
import { openWorld, type World } from "@reprise/stream/testing";
import { type OtherSlots, SlotsExchange } from "./slots-exchange.ts";

const MODEL = "m";
const SUBJECT = slotsSubject(MODEL);
const acme = parseTenantId("acme");

function exchange(world: World) {
  const told: OtherSlots[] = [];
  const started = new SlotsExchange({
    connection: world.broker.main,
    model: MODEL,
    slots: () => 4,
    running: () => new Map(),
    held: () => 0,
    onOthers: (others) => told.push(others),
    onGone: () => {},
    onError: (error) => world.errors.push(error),
  });
  return { told, [Symbol.dispose]: () => started.stop() };
}

test.each([
  "",
  "null",
  '"text"',
  '{"worker":"bad","slots":1}',
  '{"worker":"bad","slots":1,"running":null}',
  '{"worker":"bad","slots":1,"running":[1]}',
  '{"worker":"bad","slots":1,"running":{"acme":"1"}}',
  '{"worker":"bad","slots":1,"running":{"acme":-1}}',
  '{"worker":"bad","slots":1.5,"running":{}}',
  '{"worker":"bad","slots":1e300,"running":{}}',
  '{"worker":{},"slots":1,"running":{}}',
])("the malformed announcement %s is ignored, when it comes and when it would have expired", async (text) => {
  await using world = await openWorld();
  vi.useFakeTimers({ toFake: ["setInterval", "performance"] });
  using realTimers = { [Symbol.dispose]: () => vi.useRealTimers() };
  using worker = exchange(world);
  await world.broker.main.flush();
  world.broker.reads.publish(SUBJECT, text);
  world.broker.reads.publish(SUBJECT, '{"worker":"good","slots":2,"running":{"acme":1}}');
  const good = { slots: 2, running: new Map([[acme, 1]]) };
  await eventually(() => expect(worker.told).toEqual([good]));
  vi.advanceTimersByTime(8_000);
  expect(worker.told).toEqual([good, { slots: 0, running: new Map() }]);
  expect(world.errors).toEqual([]);
  realTimers[Symbol.dispose]();
});
