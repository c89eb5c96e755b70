import * as fc from "fast-check";
import { expect, test } from "vitest";
import { NatsScanner } from "./nats-scanner.ts";

const HEADERS = "NATS/1.0\r\nNats-Expected-Last-Subject-Sequence: 4\r\n\r\n";
const TALK = [
  'CONNECT {"verbose":false}\r\nPING\r\nSUB _INBOX.a.* 1\r\n',
  "PUB gen.0.acme.one _INBOX.a.1 5\r\nhéll\r\n",
  "PUB gen.0.acme.one 2\r\n\r\n\r\n",
  `HPUB gen.0.acme.two _INBOX.a.2 ${HEADERS.length} ${HEADERS.length + 7}\r\n${HEADERS}PUB a 1\r\n`,
  "PUB job.sim.acme.one _INBOX.a.3 3\r\nabc\r\nPONG\r\n",
  "MSG _INBOX.a.1 1 2\r\n{}\r\n",
  "MSG ping 1 gen.reply 2\r\n{}\r\n",
  `HMSG _INBOX.a.2 1 ${HEADERS.length} ${HEADERS.length}\r\n${HEADERS}\r\n`,
].join("");
const EXPECTED = [
  ["gen.0.acme.one", "_INBOX.a.1", "héll"],
  ["gen.0.acme.one", "", "\r\n"],
  ["gen.0.acme.two", "_INBOX.a.2", "PUB a 1"],
  ["_INBOX.a.1", "", "{}"],
  ["ping", "gen.reply", "{}"],
  ["_INBOX.a.2", "", ""],
];

test("reads every wanted message out of a connection, wherever its pieces end", () => {
  const bytes = Buffer.from(TALK);
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1 }), (sizes) => {
      const found: string[][] = [];
      const scanner = new NatsScanner({
        wants: (subject) => !subject.startsWith("job."),
        onMessage: ({ subject, reply, payload }) => found.push([subject, reply, payload.toString()]),
      });
      for (let at = 0, turn = 0; at < bytes.length; turn++) {
        const size = sizes[turn % sizes.length]!;
        scanner.push(bytes.subarray(at, at + size));
        at += size;
      }
      expect(found).toEqual(EXPECTED);
    }),
  );
});
