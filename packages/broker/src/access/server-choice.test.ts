import { expect, test } from "vitest";
import { ServerChoice } from "./server-choice.ts";

const toServer = (listen: string) => ({ listen, lastConnect: 0 }) as never;
const SERVERS = ["a:1", "b:1", "c:1"].map(toServer);

function openChoice() {
  const choice = new ServerChoice(() => 0.5);
  const choose = (connection: string, nowMs = 0) => {
    const chosen = choice.choose(connection, SERVERS, nowMs);
    choice.made(connection);
    return (chosen as unknown as { listen: string }).listen;
  };
  return { choice, choose };
}

test("the connections of a process are spread over the servers", () => {
  const { choose } = openChoice();
  expect(["main", "reads", "bulk"].map((name) => choose(name)).toSorted()).toEqual(["a:1", "b:1", "c:1"]);
});

test("a server that was lost is dialled after all others, for a while", () => {
  const { choose } = openChoice();
  const lost = choose("main");
  expect(choose("main", 1_000)).not.toBe(lost);
  expect(choose("reads", 2_000)).not.toBe(lost);
  expect([choose("bulk", 70_000), choose("other", 70_000)]).toContain(lost);
});

test("a connection knows its home while it is elsewhere, returns there, and its server meanwhile is not lost", () => {
  const { choice, choose } = openChoice();
  const home = choose("main");
  expect(choice.awayFrom("main")).toBeUndefined();
  choose("main", 1_000);
  expect(choice.awayFrom("main")).toBe(home);
  choice.returns("main");
  expect(choose("main", 2_000)).toBe(home);
  expect(choice.awayFrom("main")).toBeUndefined();
  const others = ["reads", "bulk"].map((name) => choose(name, 3_000));
  expect([home, ...others].toSorted()).toEqual(["a:1", "b:1", "c:1"]);
});

test("a server that was dialled a moment ago is dialled again after a pause", () => {
  const choice = new ServerChoice();
  const [server] = [{ listen: "a:1", lastConnect: Date.now() }] as never[];
  expect(choice.choose("main", [server as never], 0)).toEqual({ server, delay: expect.any(Number) });
});
