import { expect, test } from "vitest";
import { parsePortsFile } from "./nats-server-ports-file.ts";

const WHOLE = '{"nats":["nats://127.0.0.1:43707"],"monitoring":["http://127.0.0.1:8222"]}';

test("a whole ports file tells the pid and the port for clients", () => {
  expect(parsePortsFile("nats-server_4711.ports", WHOLE)).toEqual({ pid: 4711, port: 43_707 });
});

test("a partly written ports file has no ports, cut at any byte", () => {
  const end = WHOLE.indexOf('"', WHOLE.indexOf("127.0.0.1:")) + 1;
  for (let length = 0; length < end; length++) {
    expect(
      parsePortsFile("nats-server_4711.ports", WHOLE.slice(0, length)),
      `${length} bytes`,
    ).toBeUndefined();
  }
});
