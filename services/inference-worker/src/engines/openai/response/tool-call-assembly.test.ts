import { RepriseError } from "@reprise/protocol";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { anyText } from "../../testing/any-text.ts";
import { ToolCallAssembly } from "./tool-call-assembly.ts";
import type { ToolCallDelta } from "./tool-call-delta.ts";

type Piece = Partial<ToolCallDelta>;

function assemble(pieces: readonly Piece[]) {
  const assembly = new ToolCallAssembly();
  for (const piece of pieces) {
    assembly.add({
      index: undefined,
      id: undefined,
      name: undefined,
      arguments: "",
      providerState: undefined,
      ...piece,
    });
  }
  return assembly.finish().map(({ callId, name, arguments: args }) => [callId, name, args]);
}

const A = { id: "a", name: "f" };
const B = { id: "b", name: "g" };

describe("the pieces of tool calls", () => {
  test.each<[string, Piece[]]>([
    [
      "that are whole calls, all with the index 0",
      [
        { index: 0, ...A, arguments: '{"x":1}' },
        { index: 0, ...B, arguments: '{"y":2}' },
      ],
    ],
    [
      "that are whole calls without an index",
      [
        { ...A, arguments: '{"x":1}' },
        { ...B, arguments: '{"y":2}' },
      ],
    ],
    [
      "without an index, but with the id in each",
      [
        { ...A, arguments: '{"x"' },
        { ...B, arguments: '{"y"' },
        { id: "a", arguments: ":1}" },
        { id: "b", arguments: ":2}" },
      ],
    ],
    [
      "with neither index nor id after the first of each",
      [A, { arguments: '{"x":' }, { arguments: "1}" }, B, { arguments: '{"y":2}' }],
    ],
    [
      "with id and name repeated in each",
      [
        { index: 0, ...A, arguments: '{"x":' },
        { index: 0, ...A, arguments: "1}" },
        { index: 0, ...A },
        { index: 1, ...B, arguments: '{"y":2}' },
      ],
    ],
    [
      "with an id that is made up again for each",
      [
        { index: 0, ...A },
        { index: 0, id: "a2", arguments: '{"x":' },
        { index: 0, id: "a3", arguments: "1}" },
        { index: 1, ...B, arguments: '{"y":2}' },
      ],
    ],
    [
      "the first of which has no name yet",
      [
        { index: 0, id: "a" },
        { index: 0, name: "f", arguments: '{"x":1}' },
        { index: 1, ...B, arguments: '{"y":2}' },
      ],
    ],
    [
      "of which the rest of one has another index",
      [
        { index: 0, ...A, arguments: '{"x"' },
        { index: 1, arguments: ":1}" },
        { index: 2, ...B, arguments: '{"y":' },
        { index: 2, arguments: "2}" },
      ],
    ],
    [
      "of which all arguments have another index",
      [
        { index: 0, ...A },
        { index: 1, arguments: '{"x":' },
        { index: 1, arguments: "1}" },
        { index: 2, ...B },
        { index: 3, arguments: '{"y":2}' },
      ],
    ],
    [
      "by turns, all with the index 0",
      [
        { index: 0, ...A, arguments: '{"x"' },
        { index: 0, ...B, arguments: '{"y"' },
        { index: 0, id: "a", arguments: ":1}" },
        { index: 0, id: "b", arguments: ":2}" },
      ],
    ],
    [
      "after {} in the place of arguments",
      [
        { index: 0, ...A, arguments: "{}" },
        { index: 0, arguments: '{"x":' },
        { index: 0, arguments: "1}" },
        { index: 1, ...B, arguments: "[]" },
        { index: 1, ...B, arguments: '{"y":2}' },
      ],
    ],
    [
      "with all arguments once more at the end",
      [
        { index: 0, ...A, arguments: '{"x":' },
        { index: 0, arguments: "1}" },
        { index: 0, arguments: '{"x":1}' },
        { index: 1, ...B, arguments: '{"y":2}' },
        { index: 1, ...B, arguments: '{"y":2}' },
      ],
    ],
    [
      "with the arguments before the name",
      [
        { index: 0, id: "a", arguments: '{"x":1}' },
        { index: 0, id: "a", name: "f" },
        { index: 1, arguments: '{"y":2}' },
        { index: 1, ...B },
      ],
    ],
    [
      "with the arguments before the name, all with the index 0",
      [
        { index: 0, arguments: '{"x":1}' },
        { index: 0, ...A },
        { index: 0, arguments: '{"y":2}' },
        { index: 0, ...B },
      ],
    ],
  ])("%s are put together", (_, pieces) => {
    expect(assemble(pieces)).toEqual([
      ["a", "f", '{"x":1}'],
      ["b", "g", '{"y":2}'],
    ]);
  });

  test("of two whole calls of one function without ids are two calls", () => {
    const pieces = [
      { index: 0, name: "f", arguments: '{"x":1}' },
      { index: 0, name: "f", arguments: '{"x":2}' },
    ];
    expect(assemble(pieces)).toEqual([
      [undefined, "f", '{"x":1}'],
      [undefined, "f", '{"x":2}'],
    ]);
  });

  test("after a call without arguments are the next one's, whose name comes later", () => {
    const pieces = [
      { index: 0, name: "f" },
      { index: 1, arguments: '{"x":1}' },
      { index: 1, name: "g" },
    ];
    expect(assemble(pieces)).toEqual([
      [undefined, "f", "{}"],
      [undefined, "g", '{"x":1}'],
    ]);
  });

  test("of calls that share an id but not the index are several calls", () => {
    const pieces = [
      { index: 0, id: "call", name: "f", arguments: "{}" },
      { index: 1, id: "call", name: "f", arguments: "{}" },
    ];
    expect(assemble(pieces)).toHaveLength(2);
  });

  test("need not be valid JSON", () => {
    expect(assemble([{ index: 0, ...A, arguments: '{"x":' }])).toEqual([["a", "f", '{"x":']]);
  });

  test("give the calls that were cut up, in the order of their indices, however they were cut and mixed", () => {
    const call = fc.record({
      id: fc.option(fc.uuid(), { nil: undefined }),
      name: fc.stringMatching(/^[a-z]{1,8}$/),
      args: anyText({ minLength: 1 }).map((text) => JSON.stringify({ text })),
      cuts: fc.array(fc.nat(), { maxLength: 5 }),
    });
    fc.assert(
      fc.property(fc.array(call, { maxLength: 5 }), fc.array(fc.nat()), (calls, picks) => {
        const queues = calls.map(({ id, name, args, cuts }, index): Piece[] => {
          const at = [0, ...cuts.map((cut) => cut % args.length).toSorted((a, b) => a - b), args.length];
          const pieces = at.slice(1).map((stop, i) => ({ index, arguments: args.slice(at[i], stop) }));
          return [{ index, id, name }, ...pieces];
        });
        const mixed: Piece[] = [];
        for (let i = 0; queues.some((queue) => queue.length > 0); i++) {
          const open = queues.filter((queue) => queue.length > 0);
          mixed.push(open[(picks[i] ?? 0) % open.length]!.shift()!);
        }
        expect(assemble(mixed)).toEqual(calls.map(({ id, name, args }) => [id, name, args]));
      }),
    );
  });
});

describe("tool calls are a failure of the engine", () => {
  function refusalOf(pieces: readonly Piece[]): RepriseError {
    try {
      assemble(pieces);
    } catch (error) {
      expect(error).toBeInstanceOf(RepriseError);
      expect(error).toMatchObject({ code: "engine_failed" });
      return error as RepriseError;
    }
    throw new Error("the calls were accepted");
  }

  test("when a piece may be of several", () => {
    const pieces = [
      { index: 0, ...A, arguments: '{"x"' },
      { index: 0, ...B, arguments: '{"y"' },
      { index: 0, arguments: ":1}" },
    ];
    expect(refusalOf(pieces).message).toBe("The engine sent a piece of a tool call that may be of several.");
  });

  test("when one names no function", () => {
    expect(refusalOf([{ index: 0, id: "secret-id", arguments: '{"card":4111}' }]).message).toBe(
      "The engine made a tool call that names no function.",
    );
  });

  test("when one is longer than 131,072 characters, without a word of it", () => {
    const piece = { index: 0, ...A, arguments: "lighthouse ".repeat(1_000) };
    const { message } = refusalOf(Array.from({ length: 12 }, () => piece));
    expect(message).toBe("The engine made a tool call of more than 131072 characters.");
  });

  test("when there are more than 128", () => {
    const pieces = Array.from({ length: 129 }, (_, index) => ({ index, id: `${index}`, name: "f" }));
    expect(assemble(pieces.slice(1))).toHaveLength(128);
    expect(refusalOf(pieces).message).toBe("The engine made more than 128 tool calls at once.");
  });
});
