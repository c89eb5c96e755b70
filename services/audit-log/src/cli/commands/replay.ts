import { pause } from "@reprise/async";
import { type DeliveryMark, RepriseError } from "@reprise/protocol";
import type { CommandIo } from "@reprise/runtime";
import { Command } from "commander";
import { inPace, openReplay } from "../../replaying/replay.ts";
import {
  formatBeginning,
  formatEvent,
  formatInput,
  REPLAY_FORMATS,
  type ReplayFormat,
} from "../../replaying/replay-format.ts";
import { recordAccess } from "./access.ts";
import { EXIT, type MakeCommand, write, writeLine } from "../command.ts";
import { type GenerationValues, openGeneration, withGeneration } from "../open-generation.ts";

/** Shows one generation again. Ends with `EXIT.gap`, and shows nothing, when events of it are not in the archive. */
export const replay: MakeCommand = (io) =>
  withGeneration(new Command("replay"))
    .description("shows a generation again, as it is now, as it was, or as one connection got it")
    .option("--as-shown-to <reader>", "byte for byte what that connection was handed")
    .option(
      "--original",
      "what was generated, and the request; default: what a reader is shown who comes now",
    )
    .option("--input", "what was streamed to the model, as it was sent; text or json")
    .option("--speed <n>", "1: as long as it took; 10: ten times as fast", "max")
    .option("--format <format>", REPLAY_FORMATS.join(", "), "text")
    .action(async (values: Values) => {
      io.exitCode = await run(values, io);
    });

interface Values extends GenerationValues {
  readonly asShownTo?: string;
  readonly original?: true;
  readonly input?: true;
  readonly speed: string;
  readonly format: string;
}

async function run(values: Values, io: CommandIo): Promise<number> {
  const [speed, format] = [parseSpeed(values.speed), parseFormat(values.format)];
  const { original = false, input = false, asShownTo: shownTo } = values;
  if (Number(original) + Number(input) + Number(shownTo !== undefined) > 1)
    throw new RepriseError("invalid_request", "--as-shown-to, --original and --input exclude each other.");
  if (input && format === "sse")
    throw new RepriseError("invalid_request", "--input has no --format sse; use text or json.");
  const { ref, reader } = await openGeneration(values, io.env);
  const query = {
    ...(shownTo !== undefined && { as_shown_to: shownTo }),
    original: String(original),
    ...(input && { input: "true" }),
  };
  await recordAccess(values.nats, { ...ref, call: "replay", query }, io);
  const pace = { speed, now: () => performance.now(), pause };
  if (input && format !== "sse") {
    const hole = await reader.inputHoleOf(ref);
    if (hole) {
      await writeLine(
        io.err,
        `Entries ${hole.fromSeq} to ${hole.toSeq} of the input are not in the archive.`,
      );
      return EXIT.gap;
    }
    for await (const record of inPace(reader.inputOf(ref), pace))
      await write(io.out, formatInput(format, record));
    return EXIT.fine;
  }

  const found = await openReplay(reader, { ref, shownTo, original });
  if (found.kind === "gap") {
    const holes = found.holes.map(({ fromSeq, toSeq }) => `${fromSeq} to ${toSeq}`);
    await writeLine(io.err, `Events ${holes.join(", ")} of ${ref.generation} are not in the archive.`);
    return EXIT.gap;
  }
  if (found.kind === "reader_unknown") {
    await writeLine(io.err, `No connection ${shownTo} is recorded. There were ${found.readers.length}:`);
    for (const mark of found.readers) await writeLine(io.err, `  ${describe(mark)}`);
    return EXIT.unknown;
  }
  if (found.mark) await writeLine(io.err, describe(found.mark));
  const paced = inPace(found.events, pace);
  await write(io.out, formatBeginning(format));
  for await (const event of paced) await write(io.out, formatEvent(format, event));
  return EXIT.fine;
}

function describe({
  reader,
  protocol,
  address,
  by,
  from_seq,
  seq,
  started_at,
  ended_at,
}: DeliveryMark): string {
  const shown = seq < from_seq ? "no events" : `events ${from_seq} to ${seq}`;
  return `${reader}: ${protocol}, ${address}, by ${by}, ${shown}, from ${started_at} to ${ended_at ?? "?"}`;
}

/** @throws RepriseError `invalid_request` */
function parseSpeed(value: string): number {
  const speed = value === "max" ? Number.POSITIVE_INFINITY : Number(value);
  if (speed > 0) return speed;
  throw new RepriseError("invalid_request", "--speed must be a number above 0, or max.");
}

/** @throws RepriseError `invalid_request` */
function parseFormat(value: string): ReplayFormat {
  const format = REPLAY_FORMATS.find((one) => one === value);
  if (format) return format;
  throw new RepriseError("invalid_request", `--format must be one of ${REPLAY_FORMATS.join(", ")}.`);
}
